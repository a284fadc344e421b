# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run line number programs (DWARF 5, 6.2.5) for the rows of some addresses.

With -gline-tables-only and -gsplit-dwarf, functions have no entries of their own. Only these rows
name their sources then.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from packager.dwarf import lines
from packager.dwarf.cursor import Cursor
from packager.dwarf.lines import Header
from packager.errors import FormatError, LimitError
from packager.records import NamedTuple

# Most instructions of all line programs of a file: running them takes about a second.
MAX_INSTRUCTIONS = 1 << 21
EXTENDED, COPY, ADVANCE_PC, ADVANCE_LINE, SET_FILE = 0, 1, 2, 3, 4
CONST_ADD_PC, FIXED_ADVANCE_PC = 8, 9
END_SEQUENCE, SET_ADDRESS = 1, 2


class Row(NamedTuple):
    """A row of the line table: the file and line of the instruction at an address."""

    address: int
    file: int
    line: int
    is_end: bool = False  # the address is the first behind the code of a sequence


def at_addresses(data: bytes, at: int, wanted: Collection[int], budget: list[int]) -> list[Row]:
    """Run the program at `at`, and return the first row of each address in `wanted`.

    Each instruction decrements the one number in `budget`.
    """
    found: dict[int, Row] = {}
    for row in _program(data, at, budget):
        if row.address in wanted and not row.is_end:
            found.setdefault(row.address, row)
    return list(found.values())


def spans(data: bytes, at: int, budget: list[int]) -> Iterator[tuple[Row, int]]:
    """Yield the rows of the program at `at`, each with the address of the next one.

    Skips sequences at address 0: linkers place discarded code there.
    """
    before: Row | None = None
    is_discarded = False
    for row in _program(data, at, budget):
        if before is None:
            is_discarded = not row.address
        elif not is_discarded and row.address > before.address:
            yield before, row.address
        before = None if row.is_end else row


def _program(data: bytes, at: int, budget: list[int]) -> Iterator[Row]:
    head, _ = lines.header(data, at)
    if not head.line_range:
        raise FormatError(f".debug_line: the program at {at:#x} has no range of lines")
    return _rows(Cursor(data, head.start, ".debug_line", head.end), head, budget)


def _rows(cursor: Cursor, head: Header, budget: list[int]) -> Iterator[Row]:
    """Yield the rows in order."""
    first_special = len(head.operands) + 1
    address, file, line = 0, 1, 1
    while cursor.at < head.end:
        budget[0] -= 1
        if budget[0] < 0:
            raise LimitError(f"line numbers of more than {MAX_INSTRUCTIONS} steps are not read")
        code = cursor.number(1)
        if code >= first_special:
            steps, lines_on = divmod(code - first_special, head.line_range)
            address += steps * head.unit
            line += head.line_base + lines_on
            yield Row(address, file, line)
        elif code == EXTENDED:
            size = cursor.leb()
            end = cursor.at + size
            code = cursor.number(1) if size else 0
            if code == END_SEQUENCE:
                yield Row(address, file, line, is_end=True)
                address, file, line = 0, 1, 1
            elif code == SET_ADDRESS:
                address = cursor.number(size - 1)
            cursor.skip(end - cursor.at)
        elif code == COPY:
            yield Row(address, file, line)
        elif code == ADVANCE_PC:
            address += cursor.leb() * head.unit
        elif code == ADVANCE_LINE:
            line += cursor.signed_leb()
        elif code == SET_FILE:
            file = cursor.leb()
        elif code == CONST_ADD_PC:
            address += (255 - first_special) // head.line_range * head.unit
        elif code == FIXED_ADVANCE_PC:
            address += cursor.number(2)
        else:
            for _ in range(head.operands[code - 1]):
                cursor.leb()
