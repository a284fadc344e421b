# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Static archives: their members slimmed, and the places in the table of symbols rewritten.

GNU's table has big-endian numbers of 4 bytes ("/") or 8 bytes ("/SYM64/"): how many symbols there
are, and where the header of each one's member is. BSD's ("__.SYMDEF") has little-endian pairs of a
name and a place.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import BinaryIO, Literal

from packager.errors import FormatError
from packager.files.reader import Reader, open_reader
from packager.formats.containers import archive
from packager.records import NamedTuple
from packager.slimming.packages.members import LONGEST, PIECE, Members, may_have_code
from packager.slimming.slimmed import Slimmed, Slimmer

GNU, GNU_64 = b"/", b"/SYM64/"
BSD, BSD_64 = b"__.SYMDEF", b"__.SYMDEF_64"
PAIR, NUMBER = 8, 4  # bytes of BSD's pairs, and of their size in front of them


class _Row(NamedTuple):
    """A member or table, and its name, which BSD's long ones have in front of their bytes."""

    row: archive.Row
    name: str

    @property
    def is_symbols(self) -> bool:
        """Return whether the member is a table of symbols."""
        return self.row.is_symbols or self.is_of_bsd

    @property
    def is_of_bsd(self) -> bool:
        """Return whether the member is a table of symbols in BSD's form."""
        is_long = self.row.field.startswith(archive.BSD_NAME) and self.name.startswith(BSD.decode())
        return is_long or self.row.field.startswith(BSD)


ByteOrder = Literal["little", "big"]


def slim_archive(path: Path, out: Path, folder: Path, slim: Slimmer, name: str) -> list[Slimmed]:
    """Write `path` to `out`, its members slimmed; return the results of those with device code.

    `folder` is empty, with room for the largest member twice. Raises FormatError if the archive is
    malformed, thin, or in Windows' form.
    """
    members = Members(name, folder, slim)
    with open_reader(path) as data:
        if data.starts_with(archive.THIN_MAGIC):
            raise FormatError("is a thin archive: slim the files that it names")
        names = iter([member.name for member in archive.members(data)])
        rows = [_Row(row, "" if row.is_table else next(names)) for row in archive.rows(data)]
        if sum(one.row.field == GNU for one in rows) > 1:
            raise FormatError("is an archive of Windows' form, which slim does not change")
        with out.open("wb") as file:
            file.write(archive.MAGIC)
            places = {one.row.at: _write(file, data, one, members) for one in rows}
            for one in rows:
                if one.is_symbols:
                    file.seek(places[one.row.at] + archive.HEADER.size)
                    file.write(_moved(one, places))
    return members.slimmed


def _write(out: BinaryIO, data: Reader, one: _Row, members: Members) -> int:
    """Write a member or table, and return the place of its header."""
    place = out.tell()
    row, body = one.row, _bytes_of(one.row)
    is_table = row.is_table or one.is_symbols
    result = None if is_table else _slimmed(body, row.field, one.name, members)
    head = body.bytes(0, _length_of_name(row.field)) if result else b""
    size = len(head) + result.stat().st_size if result else row.size
    header = list(archive.HEADER.unpack(data.bytes(row.at, archive.HEADER.size)))
    header[-2] = str(size).encode().ljust(len(header[-2]))
    out.write(archive.HEADER.pack(*header))
    out.write(head)
    if result:
        with result.open("rb") as file:
            shutil.copyfileobj(file, out, PIECE)
    else:
        out.writelines(body.pieces())
    out.write(b"\n" * (size % 2))
    return place


def _slimmed(body: Reader, field: bytes, name: str, members: Members) -> Path | None:
    start = _length_of_name(field)
    content = body.slice(start, len(body) - start, name)
    if not may_have_code(content.bytes(0, min(LONGEST, len(content)))):
        return None
    return members.slim(name, len(content), len(content), content.pieces())


def _length_of_name(field: bytes) -> int:
    """Return the bytes of a name that is in front of the member's own, as BSD's are."""
    return int(field[len(archive.BSD_NAME) :]) if field.startswith(archive.BSD_NAME) else 0


def _bytes_of(row: archive.Row) -> Reader:
    if row.body is None:
        raise FormatError(f"archive member at {row.at:#x} is not in the archive")
    return row.body


def _moved(one: _Row, places: Mapping[int, int]) -> bytes:
    """Return a table of symbols with the new places of members."""
    field, table = one.row.field, bytearray(_bytes_of(one.row).bytes(0))
    start = _length_of_name(field)
    if field in (GNU, GNU_64):
        width = 4 if field == GNU else 8
        count = int.from_bytes(table[:width], "big")
        _move(table, range(width, width * (count + 1), width), width, "big", places)
    elif one.is_of_bsd and BSD_64 not in (field, one.name.encode()):
        size = int.from_bytes(table[start : start + NUMBER], "little")
        ats = range(start + 2 * NUMBER, start + NUMBER + size, PAIR)
        _move(table, ats, NUMBER, "little", places)
    else:
        raise FormatError(f"archive at {one.row.at:#x} has a table of symbols of an unknown form")
    return bytes(table)


def _move(
    table: bytearray, ats: Iterable[int], width: int, order: ByteOrder, places: Mapping[int, int]
) -> None:
    for at in ats:
        field = table[at : at + width]
        place = places.get(int.from_bytes(field, order))
        if len(field) < width or place is None:
            raise FormatError(f"table of symbols has no member's place at its byte {at:#x}")
        table[at : at + width] = place.to_bytes(width, order)
