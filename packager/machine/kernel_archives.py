# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Predict whether HIP's runtime finds the kernels that libraries keep in archives. No I/O."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from packager.checks.archives import INSTALL, by_library, has_kernels, wanted
from packager.model import Finding, KernelArchives

# Variables whose archives HIP's runtime uses instead of, or before, a library's.
VARIABLES = ("ROCM_KPACK_PATH", "ROCM_KPACK_PATH_PREFIX")


def elsewhere(environment: Mapping[str, str]) -> str:
    """Return the variable that names archives for HIP's runtime; "" if none is set."""
    return next((name for name in VARIABLES if environment.get(name)), "")


def lacking(
    archives: Sequence[KernelArchives], gpus: Sequence[str], environment: Mapping[str, str]
) -> Iterator[Finding]:
    """Yield which archive a library lacks for each of a machine's GPUs."""
    other = elsewhere(environment)
    for library, mine in by_library(archives).items():
        for gpu in dict.fromkeys(gpus):
            if reason := _lack(mine, gpu):
                message = f"{library} has no kernels for this machine's {gpu}: {reason}"
                if other:
                    message += f"; {other} names archives that doctor does not read"
                yield Finding("OMP134", "info" if other else "warning", message, INSTALL)


def why_not(archives: Sequence[KernelArchives], gpus: Sequence[str]) -> str:
    """Return why no library finds kernels for any of the GPUs; "" if one does."""
    libraries = by_library(archives).values()
    if any(has_kernels(mine, gpu) for mine in libraries for gpu in gpus):
        return ""
    reasons = (f"{gpu}: {_lack(mine, gpu)}" for mine in libraries for gpu in dict.fromkeys(gpus))
    return f"no archive has kernels for {'; '.join(dict.fromkeys(reasons))}"


def _lack(archives: Sequence[KernelArchives], gpu: str) -> str:
    """Return the missing archive with a library's kernels for a GPU; "" if none is missing."""
    if has_kernels(archives, gpu):
        return ""
    paths = wanted(archives, gpu)
    if not paths:
        return "it names archives for other GPUs alone"
    there = {file for one in archives for file, _ in one.files}
    absent = [path for path in paths if PurePosixPath(path).name not in there]
    if absent:
        return f"{' and '.join(absent)} {'is' if len(absent) == 1 else 'are'} not there"
    return f"{' and '.join(paths)} {'has' if len(paths) == 1 else 'have'} none"
