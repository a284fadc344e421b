# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Read the file table of a line number program (DWARF 5, 6.2.4), which DW_AT_decl_file indexes."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from packager.dwarf import forms
from packager.dwarf.cursor import Cursor
from packager.dwarf.forms import Shape
from packager.errors import FormatError
from packager.records import NamedTuple

MAX_FILES = 1 << 16
PATH, DIRECTORY = 1, 2  # contents of an entry
OLD_VERSIONS = (2, 3, 4)
WIDE = 0xFFFFFFFF  # an initial length of the 64-bit format


class Texts(NamedTuple):
    """The sections that names are in."""

    strings: bytes  # .debug_str
    line_strings: bytes  # .debug_line_str


class Header(NamedTuple):
    """The header of a line-number program."""

    shape: Shape
    start: int  # offset of the instructions
    end: int
    unit: int  # bytes that addresses advance by
    line_base: int
    line_range: int
    operands: tuple[int, ...]  # number of operands of each standard opcode, from 1 on


def files(data: bytes, at: int, compiled_in: bytes, texts: Texts) -> dict[int, bytes]:
    """Return the paths of the line number program at `at`, by file number."""
    head, cursor = header(data, at)
    if head.shape.version == 5:
        return _described(cursor, head.shape, compiled_in, texts)
    return _listed(cursor, compiled_in)


def header(data: bytes, at: int) -> tuple[Header, Cursor]:
    """Read the header of the program at `at`; return it with a cursor at the file table."""
    cursor = Cursor(data, at, ".debug_line")
    length = cursor.number(4)
    offset = 4
    if length == WIDE:
        length, offset = cursor.number(8), 8
    cursor.end = min(cursor.at + length, len(data))
    version = cursor.number(2)
    address = 8
    if version == 5:
        address = cursor.number(1)
        cursor.skip(1)  # the size of segment selectors
    elif version not in OLD_VERSIONS:
        raise FormatError(f"line numbers of version {version} are not read")
    shape = Shape(version, address, offset)
    size = cursor.number(offset)
    start = cursor.at + size
    unit = cursor.number(1)
    cursor.skip(1 if version < 4 else 2)  # operations of an instruction, is_stmt
    line_base, line_range = cursor.number(1), cursor.number(1)
    operands = tuple(cursor.take(cursor.number(1) - 1))
    signed = line_base - 256 if line_base > 127 else line_base
    return Header(shape, start, cursor.end, unit, signed, line_range, operands), cursor


def _listed(cursor: Cursor, compiled_in: bytes) -> dict[int, bytes]:
    """Read a file table of version 2 to 4: directories and files, each list ended by ""."""
    folders = [compiled_in]
    while name := cursor.string():
        folders.append(_joined(compiled_in, name))
        _expect_few(folders)
    found: dict[int, bytes] = {}
    while name := cursor.string():
        folder = cursor.leb()
        cursor.leb()  # time
        cursor.leb()  # size
        found[len(found) + 1] = _joined(_at(folders, folder), name)
        _expect_few(found)
    return found


def _described(cursor: Cursor, shape: Shape, compiled_in: bytes, texts: Texts) -> dict[int, bytes]:
    """Read a file table of version 5, in which each list follows a description of its entries."""
    folders: list[bytes] = []
    for name, _ in _entries(cursor, shape, texts):
        folders.append(_joined(folders[0] if folders else compiled_in, name))
    return {
        number: _joined(_at(folders, folder), name)
        for number, (name, folder) in enumerate(_entries(cursor, shape, texts))
    }


def _entries(cursor: Cursor, shape: Shape, texts: Texts) -> list[tuple[bytes, int]]:
    """Return the names of a list with the index of each one's directory."""
    columns = [(cursor.leb(), cursor.leb()) for _ in range(cursor.number(1))]
    count = cursor.leb()
    if count > MAX_FILES or (count and not columns):
        raise FormatError(f"line numbers of {count} files are not read")
    found = []
    for _ in range(count):
        name, folder = b"", 0
        for content, form in columns:
            if content == PATH:
                name = _name(cursor, form, shape, texts)
            else:
                value = forms.number(cursor, form, shape)
                folder = value if content == DIRECTORY else folder
        found.append((name, folder))
    return found


def _name(cursor: Cursor, form: int, shape: Shape, texts: Texts) -> bytes:
    if form == forms.STRING:
        return cursor.string()
    at = forms.number(cursor, form, shape)
    if form == forms.LINE_STRP:
        return Cursor(texts.line_strings, at, ".debug_line_str").string()
    if form == forms.STRP:
        return Cursor(texts.strings, at, ".debug_str").string()
    return b""


def _at(folders: Sequence[bytes], number: int) -> bytes:
    return folders[number] if number < len(folders) else b""


def _joined(folder: bytes, name: bytes) -> bytes:
    return posixpath.join(folder, name)


def _expect_few(found: Sequence[bytes] | dict[int, bytes]) -> None:
    if len(found) > MAX_FILES:
        raise FormatError(f"line numbers of more than {MAX_FILES} files are not read")
