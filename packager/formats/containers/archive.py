# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Read static archives (ar, GNU and BSD names), and thin ones, whose members are other files."""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct

from packager.errors import FormatError
from packager.files.names import text
from packager.files.reader import Reader
from packager.records import NamedTuple

NAME = "archive"
MAGIC = b"!<arch>\n"
THIN_MAGIC = b"!<thin>\n"
HEADER = Struct("<16s12s6s6s8s10s2s")  # name, date, owner, group, mode, size, end
END = b"`\n"
SYMBOLS = (b"/", b"/SYM64/", b"__.SYMDEF", b"__.SYMDEF SORTED")
SYMBOLS_OF_WINDOWS = b"/<"  # "/<ECSYMBOLS>/", "/<HYBRIDMAP>/": of ARM64's linkers
LONG_NAMES = b"//"
BSD_NAME = b"#1/"
MAX_MEMBERS = 1 << 20
MAX_NAME = 4096


class Member(NamedTuple):
    """A member of an archive."""

    name: str
    data: Reader | None  # None in a thin archive: `name` is a file
    size: int
    inside: int | None = None  # offset of the member's header, if that file is an archive


def probe(data: Reader) -> bool:
    """Return whether `data` begins like an archive."""
    return data.starts_with(MAGIC) or data.starts_with(THIN_MAGIC)


class Row(NamedTuple):
    """A member or table, as its header has it."""

    at: int  # offset of the header
    field: bytes  # name field, or a reference to a long name
    size: int
    body: Reader | None  # None in a thin archive

    @property
    def is_table(self) -> bool:
        """Return whether the row is a table of symbols or names."""
        return _is_symbols(self.field) or self.field == LONG_NAMES

    @property
    def is_symbols(self) -> bool:
        """Return whether the row is a table of symbols."""
        return _is_symbols(self.field)


def rows(data: Reader) -> Iterator[Row]:
    """Yield members and tables in their order. Raises FormatError at the first malformed one."""
    is_thin = data.starts_with(THIN_MAGIC)
    at, count = len(MAGIC), 0
    while at < len(data):
        count += 1
        if count > MAX_MEMBERS:
            raise FormatError(f"archive at {data.at:#x} has more than {MAX_MEMBERS} members")
        row = Row(at, *_header(data, at), None)
        at += HEADER.size
        if row.is_table or not is_thin:
            yield row._replace(body=data.slice(at, row.size, "archive member"))
            at += row.size + row.size % 2
        else:
            yield row


def members(data: Reader) -> Iterator[Member]:
    """Yield the members, without tables. Raises FormatError at the first malformed one."""
    long_names = Reader(b"")
    for row in rows(data):
        if row.field == LONG_NAMES and row.body is not None:
            long_names = row.body
        elif not row.is_table:
            at = data.at + row.at + HEADER.size
            yield _member(row.field, row.size, row.body, long_names, at)


def index(data: Reader) -> bytes:
    """Return the archive's symbol table; b"" if it has none.

    The names follow binary numbers. In GNU's form each name ends with a NUL.
    """
    if len(data) < len(MAGIC) + HEADER.size:
        return b""
    field, size = _header(data, len(MAGIC))
    if not _is_symbols(field):
        return b""
    return data.bytes(len(MAGIC) + HEADER.size, size, "archive symbol table")


def member_at(data: Reader, at: int) -> Member:
    """Return the member whose header is at `at`, to which a thin archive refers."""
    if not data.starts_with(MAGIC):
        raise FormatError("is not the archive that it should be")
    field, size = _header(data, at)
    body = data.slice(at + HEADER.size, size, "archive member")
    return _member(field, size, body, _long_names(data), data.at + at + HEADER.size)


def _long_names(data: Reader) -> Reader:
    """Return the table of long names, which precedes the members."""
    at = len(MAGIC)
    while at < len(data):
        field, size = _header(data, at)
        at += HEADER.size
        if field == LONG_NAMES:
            return data.slice(at, size, "archive member")
        if not _is_symbols(field):
            break
        at += size + size % 2
    return Reader(b"")


def _is_symbols(field: bytes) -> bool:
    return field in SYMBOLS or field.startswith(SYMBOLS_OF_WINDOWS)


def _header(data: Reader, at: int) -> tuple[bytes, int]:
    name, _, _, _, _, size, end = data.unpack(HEADER, at, "archive member header")
    where = f"archive member header at {data.at + at:#x}"
    if end != END:
        raise FormatError(f"{where} does not end as it must")
    digits = size.rstrip(b" ")
    if not digits.isdigit():
        raise FormatError(f"{where}: its size {text(digits)!r} is not a number")
    return name.rstrip(b" "), int(digits)


def _member(field: bytes, size: int, body: Reader | None, names: Reader, at: int) -> Member:
    where = f"name of the archive member at {at:#x}"
    if field.startswith(BSD_NAME) and body is not None:
        length = _number(field[len(BSD_NAME) :], where)
        if length > min(MAX_NAME, size):
            raise FormatError(f"{where} claims {length} bytes")
        name = body.bytes(0, length, where).rstrip(b"\0")
        return Member(text(name), body.slice(length, size - length, "archive member"), size)
    if field.startswith(b"/"):
        # "/12"; in a thin archive of another archive's members "/12:640"
        offset, _, inside = field[1:].partition(b":")
        start = _number(offset, where)
        header = _number(inside, where) if inside else None
        rest = names.slice(start, 0, where).at - names.at
        room = names.bytes(rest, min(MAX_NAME, len(names) - rest), where)
        name = room.replace(b"\0", b"\n").split(b"\n", 1)[0]  # NUL: in archives of lib.exe's form
        return Member(text(name.removesuffix(b"/")), body, size, header)
    return Member(text(field.removesuffix(b"/")), body, size)


def _number(digits: bytes, where: str) -> int:
    if not digits.isdigit():
        raise FormatError(f"{where} is {text(digits)!r}, not a number")
    return int(digits)
