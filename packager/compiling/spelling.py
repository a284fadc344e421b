# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The right spelling of targets that look wrong."""

from __future__ import annotations

import os
import re

from packager.errors import UsageError
from packager.triples import SPELLED, code_of, is_known, likely_meant, normalise

# Processor names of GPUs that require one, as pattern and example.
PROCESSORS = {
    "nvptx64": (re.compile(r"sm_\d+[af]?"), "sm_80"),
    "amdgcn": (re.compile(r"gfx[\w-]+(:\w+[+-])*"), "gfx90a"),
}
# Spellings of triples that users write.
CPU = os.uname().machine
NAMES = {**SPELLED, **dict.fromkeys(("cpu", "host", "native"), CPU)}
WITH_PROCESSOR = re.compile(r".*-(sm_|gfx)\w+")


def expect_triple(triple: str) -> None:
    """Raise UsageError for a triple that looks misspelt, with the right spelling."""
    meant = NAMES.get(triple.lower())
    if meant is None and (WITH_PROCESSOR.fullmatch(triple) or not is_known(normalise(triple))):
        meant = likely_meant(triple)
    if meant is not None:
        raise UsageError(f"no triple is called {triple!r}; use {meant}")


def expect_processor(triple: str, processor: str) -> None:
    """Raise UsageError for a processor that is another triple's."""
    own = PROCESSORS.get(code_of(triple))
    if own and own[0].fullmatch(processor):
        return
    found = [code for code, (names, _) in PROCESSORS.items() if names.fullmatch(processor)]
    meant = [f"{code}:{processor}" for code in found]
    if own:
        meant.append(f"{code_of(triple)}:ARCH, such as {code_of(triple)}:{own[1]}")
    if meant:
        what = f"use {' or '.join(meant)}"
        raise UsageError(f"no processor of {triple} is called {processor!r}; {what}")


def expect_named(triple: str) -> None:
    """Raise UsageError for a GPU without a processor, if its compiler requires one."""
    code = code_of(triple)
    if code in PROCESSORS:
        example = f"{code}:{PROCESSORS[code][1]}"
        raise UsageError(f"{triple} names no processor; use {code}:ARCH, such as {example}")
