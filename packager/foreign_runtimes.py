# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Predict the outcome of a program by one clang release on LLVM's runtime of another release.

The rules were measured by running programs of clang 14 and 16 to 24 on the runtimes of LLVM 14, 16,
19, 20, 22, 23 (Intel's build of 23.1.1) and 24 (a snapshot of October 2026). Releases between are
like the next measured one, unless their sources differ: LLVM 18's runtime passes the first argument
to every kernel.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from packager.conventions import ARRAY, FIRST, PLAIN
from packager.generations import Generation, is_newer, named
from packager.model import FatBinary

FIRST_WITH_KERNEL_CALL = 15
# First LLVM that reads libraries when they register, not at the first use of a device.
FIRST_EAGER = 17
FIRST_WITH_LONG_ENTRIES = 20
FIRST_BLIND_TO_WRAPPED = 21
LONG_ENTRY = 56

Call = Literal["plain", "first", "array"]  # packager/conventions.py
# First releases whose calls have version 3, and version 5. LLVM's runtime checks it since 23.
FIRST_WITH_VERSION_3, FIRST_WITH_VERSION_5 = 19, 23
FIRST_WITH_VERSION_5_ALONE = 24
WANTED: dict[Call, str] = {
    "plain": "it passes a first argument, which only kernels since clang 18 take",
    "first": "it does not pass the first argument that kernels since clang 18 take",
    "array": "it does not pass the array of arguments that kernels since clang 23 take",
}


def unread(program: FatBinary, release: int) -> str:
    """Return why that release does not run the program's regions on a CPU; "" if it does."""
    if is_blind(program, release):
        return "it does not see the images, and silently runs the program on the host"
    return at_start(program, release) or when_used(program, release)


def is_blind(program: FatBinary, release: int) -> bool:
    """Return whether that release mistakes containers around images for images."""
    return any(i.is_wrapped for i in program.images) and release >= FIRST_BLIND_TO_WRAPPED


def at_start(program: FatBinary, release: int) -> str:
    """Return why the program ends before any region, in every environment; "" if it does not."""
    if program.abi == "interface":
        return "it lacks the calls of the interface documents"
    row = named(program.abi)
    if release < FIRST_WITH_KERNEL_CALL and (
        row is None or row.first_release >= FIRST_WITH_KERNEL_CALL
    ):
        return "it lacks __tgt_target_kernel"
    if _has_long_entries(row) and FIRST_EAGER <= release < FIRST_WITH_LONG_ENTRIES:
        return "it reads 56-byte entries as records of 32"
    return ""


def when_used(program: FatBinary, release: int) -> str:
    """Return why the program ends when it first uses a device; "" if it does not."""
    if is_newer(release):
        return ""  # nobody knows
    row = named(program.abi)
    if _has_long_entries(row) and release < FIRST_WITH_LONG_ENTRIES:
        return "it reads 56-byte entries as records of 32"
    images = (image for image in program.images if image.kind == "elf")
    found = (_uncallable(image.contents.clangs, row, release) for image in images)
    return next(filter(None, found), "")


def says_of_requires(program: FatBinary, release: int) -> bool:
    """Return whether the runtime prints that it ignores the program's `requires` clauses."""
    row = named(program.abi)
    is_told = row is not None and row.registration == "init_array"
    return is_told and FIRST_WITH_VERSION_3 <= release < FIRST_WITH_VERSION_5


def _has_long_entries(row: Generation | None) -> bool:
    return row is not None and row.record_size == LONG_ENTRY


def _uncallable(clangs: Iterable[int], row: Generation | None, release: int) -> str:
    """Return why that release cannot call these clangs' kernels for a program; "" if it can."""
    own = row.first_release if row else 0
    takes = {_takes(clang): clang for clang in clangs} or {_takes(own): own}
    for kernel, clang in takes.items():
        # Objects of several calling conventions call their own kernels.
        version = _version(own if len(takes) == 1 else clang)
        passed = _passed(version, release)
        if passed is None:
            return f"it refuses kernel arguments of version {version} on a CPU"
        if passed == "array" and kernel != "array":
            return "it passes an array of arguments, which only kernels since clang 23 take"
        if passed != kernel:
            return WANTED[kernel]
    return ""


def _takes(clang: int) -> Call:
    """Return the calling convention of a clang's kernels for CPUs."""
    if clang in ARRAY:
        return "array"
    return "first" if clang in FIRST else "plain"


def _version(clang: int) -> int:
    """Return the record version of a clang's calls; the runtime turns clang 14's into version 2."""
    if clang >= FIRST_WITH_VERSION_5:
        return 5
    return 3 if clang >= FIRST_WITH_VERSION_3 else 2


def _passed(version: int, release: int) -> Call | None:
    """Return how a runtime calls kernels for a call of that version; None if it refuses to."""
    if release in PLAIN:
        return "plain"
    if release < FIRST_WITH_VERSION_3:
        return "first"
    if release >= FIRST_WITH_VERSION_5_ALONE and version < 5:
        return None
    if version < 3:
        return "plain"
    if release < FIRST_WITH_VERSION_5:
        return "first"
    return "array" if version >= 5 else None
