# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pair the members of two builds of an archive, or the two files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from packager.model import FatBinary

# Stand-in for a member that the other archive lacks.
EMPTY = FatBinary("", None, None, None, (), (), ())


def named(binaries: Iterable[FatBinary], path: str) -> Iterator[tuple[str, FatBinary]]:
    """Yield the files of `path` with the names of their members; "" for one that is no archive.

    Members of one name keep their order.
    """
    numbers: dict[str, int] = {}
    for binary in binaries:
        name = binary.path.removeprefix(path) if not binary.is_empty else ""
        numbers[name] = numbers.get(name, 0) + 1
        yield (name if numbers[name] == 1 else f"{name} {numbers[name]}"), binary
