# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Return the code of a kernel in an LLVM module, without numbers of the module."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from packager.same_kernel.reached import reached

NUMBERED = re.compile(r"[#!]\d+|\.\d+\b")  # numbers assigned by a module, not from the source
MENTION = re.compile(r"@([-a-zA-Z$._0-9]+)")


def code(kernel: str, functions: Mapping[str, object]) -> tuple[str, ...]:
    """Return the text of `kernel` and of the local functions that it reaches.

    `functions` has them all by name, and str() prints each.
    """

    def text(name: str) -> tuple[str, Iterator[str]]:
        printed = str(functions[name])
        called = (found[1] for found in MENTION.finditer(printed) if found[1] in functions)
        return NUMBERED.sub("", printed), called

    return reached([kernel], text)
