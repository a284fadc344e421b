# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The source lines of addresses anywhere in code: calls, and instructions that failed.

The line tables are searched one after the other, as few linkers or compilers write .debug_aranges.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator

from packager.dwarf import declared, lines, rows, units
from packager.dwarf.addressed import WITHOUT_ADDRESSES
from packager.dwarf.place import Place
from packager.dwarf.rows import Row
from packager.elf.headers import Elf, has_debug_information
from packager.files.names import text

# Most instructions of all line programs of a file: running them takes a few seconds.
MAX_INSTRUCTIONS = 1 << 22


def places(elf: Elf, addresses: Collection[int]) -> Iterator[tuple[int, Place]]:
    """Yield addresses of a linked file with their source lines.

    Raises FormatError for debug information that is malformed or exceeds a limit.
    """
    is_readable = has_debug_information(elf) and not elf.is_object
    if not addresses or not is_readable or elf.machine in WITHOUT_ADDRESSES:
        return
    sections = declared.sections_of(elf)
    texts = lines.Texts(sections.strings, sections.line_strings)
    budget = [MAX_INSTRUCTIONS]
    wanted = sorted(set(addresses))
    programs: set[int] = set()
    for unit in units.units(sections):
        at = unit.line_program
        if at is None or at in programs:
            continue
        programs.add(at)
        found = dict(_covering(_with_lines(rows.spans(sections.lines, at, budget)), wanted))
        files = lines.files(sections.lines, at, unit.compiled_in, texts) if found else {}
        for address, row in found.items():
            if row.file in files and row.line:
                yield address, Place(text(files[row.file]), row.line)
        wanted = [address for address in wanted if address not in found]
        if not wanted:
            return


def _with_lines(spans: Iterator[tuple[Row, int]]) -> Iterator[tuple[Row, int]]:
    """Yield spans with a line where their own is 0: the last one before, in the same code.

    Compilers write line 0 for instructions that they have moved, as a load before its loop.
    """
    before: Row | None = None
    reached = 0
    for row, end in spans:
        if row.address != reached:
            before = None
        if row.line:
            before = row
        elif before:
            row = before._replace(address=row.address)
        reached = end
        yield row, end


def _covering(spans: Iterator[tuple[Row, int]], wanted: list[int]) -> Iterator[tuple[int, Row]]:
    """Yield each address of a sorted list with the row of its instruction."""
    first, last = wanted[0], wanted[-1]
    for row, end in spans:
        if row.address <= last and end > first:
            for address in wanted[bisect_left(wanted, row.address) :]:
                if address >= end:
                    break
                yield address, row
