# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of the memory that are somewhere else after an edit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from packager.editing.linked import LinkedFile
from packager.editing.plan import Kept, Part
from packager.elf.headers import Section
from packager.errors import FormatError, UsageError
from packager.records import NamedTuple
from packager.writers.elf_types import SHF_WRITE


class Move(NamedTuple):
    """Addresses, from and to, that are in a part of the result, some bytes from its beginning."""

    start: int
    end: int
    part: Part
    inside: int = 0


class Moved(NamedTuple):
    """The same with the place of that: its address, and its offset in the file."""

    start: int
    end: int
    address: int
    offset: int


class Moves:
    """The places of parts of the memory that were somewhere else before."""

    def __init__(self, rows: Sequence[Moved]) -> None:
        self.rows = rows

    def address(self, address: int, size: int = 0) -> int | None:
        """Return where `size` bytes at `address` are now; None if they have not moved."""
        for start, end, new, _ in self.rows:
            if start <= address < end and address + size <= end:
                return new + address - start
        return None

    def offset(self, address: int) -> int | None:
        """Return the new file offset of the bytes at `address`; None if they have not moved."""
        for start, end, _, new in self.rows:
            if start <= address < end:
                return new + address - start
        return None

    def size(self, address: int) -> int:
        """Return the number of bytes that moved from `address` on."""
        return next((end - start for start, end, _, _ in self.rows if start == address), 0)


def taken(part: Part) -> Move:
    """Return the move of a section into the part that replaces it."""
    section = part.takes
    assert section is not None
    return Move(section.address, section.address + max(section.size, 1), part)


def blocks(
    file: LinkedFile, sections: Sequence[Section], is_apart: Callable[[Section], bool]
) -> Iterator[Move]:
    """Move sections as they are. Those between two that are apart keep their distances."""
    for apart, group in groupby(sections, is_apart):
        if not apart:
            yield _block(file, list(group))


def _block(file: LinkedFile, sections: Sequence[Section]) -> Move:
    start = sections[0]
    offset = file.elf.offset(start.address, start.size)
    end = max(s.address + s.size for s in sections)
    if offset is None or file.elf.offset(start.address, end - start.address) is None:
        raise FormatError(f"section {start.name} is not in a segment")
    alignment = max(max(s.alignment for s in sections), 8)
    if alignment > file.machine.page:
        raise UsageError(f"section {start.name} is aligned to {alignment} bytes; it cannot move")
    # The first section may be less aligned than the sections behind it.
    shift = start.address % alignment
    content = bytes(shift), Kept(offset, end - start.address)
    is_written = any(s.flags & SHF_WRITE for s in sections)
    part = Part("data" if is_written else "rest", "", content, alignment, is_block=True)
    return Move(start.address, end, part, shift)
