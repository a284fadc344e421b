# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The units of debug information and the functions in them (DWARF 5, 7.5.1 and 7.5.3)."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from packager.dwarf import forms
from packager.dwarf.cursor import Cursor
from packager.dwarf.forms import Shape
from packager.errors import FormatError, LimitError
from packager.records import NamedTuple

MAX_ABBREVIATIONS = 1 << 16
# Most entries that are read: each takes a few microseconds.
MAX_ENTRIES = 1 << 18
COMPILE_UNIT, SKELETON_UNIT = 1, 4  # types of units; version 5
VERSIONS = (2, 3, 4, 5)
SUBPROGRAM = 0x2E
NAME, STMT_LIST, COMP_DIR, DECL_FILE, DECL_LINE = 0x03, 0x10, 0x1B, 0x3A, 0x3B
LINKAGE_NAMES = (0x6E, 0x2007)
STR_OFFSETS_BASE = 0x72
WIDE = 0xFFFFFFFF


class Abbreviation(NamedTuple):
    """An abbreviation: the tag and the attributes of the entries with its code."""

    tag: int
    has_children: bool
    attributes: tuple[tuple[int, int, int], ...]  # attribute, form, value of an implicit one
    size: int | None  # an entry's size; None: it varies


class Sections(NamedTuple):
    """The bytes of the sections of debug information."""

    info: bytes
    abbreviations: bytes
    strings: bytes
    line_strings: bytes
    string_offsets: bytes
    lines: bytes


@dataclass
class Unit:
    """A unit: the debug information of one source file."""

    at: int  # offset of the first entry
    end: int
    shape: Shape
    abbreviations: dict[int, Abbreviation]
    string_base: int | None = None
    line_program: int | None = None
    compiled_in: bytes = b""


class Function(NamedTuple):
    """A function that was looked for."""

    name: bytes
    file: int | None  # number in the unit's line number program
    line: int


def units(sections: Sections) -> Iterator[Unit]:
    """Yield the compilation units. Raises FormatError at the first malformed one."""
    tables: dict[int, dict[int, Abbreviation]] = {}
    at, data = 0, sections.info
    while at < len(data):
        cursor = Cursor(data, at, ".debug_info")
        length, offset = cursor.number(4), 4
        if length == WIDE:
            length, offset = cursor.number(8), 8
        end = cursor.at + length
        if end > len(data):
            raise FormatError(f".debug_info: the unit at {at:#x} runs past the end")
        at = end
        cursor.end = end
        unit = _unit(cursor, offset, end, tables, sections)
        if unit:
            yield unit


def _unit(
    cursor: Cursor,
    offset: int,
    end: int,
    tables: dict[int, dict[int, Abbreviation]],
    sections: Sections,
) -> Unit | None:
    version = cursor.number(2)
    if version not in VERSIONS:
        raise FormatError(f"debug information of version {version} is not read")
    if version == 5:
        kind, address, table = cursor.number(1), cursor.number(1), cursor.number(offset)
        if kind not in (COMPILE_UNIT, SKELETON_UNIT):
            return None
        cursor.skip(8 if kind == SKELETON_UNIT else 0)
    else:
        table, address = cursor.number(offset), cursor.number(1)
    shape = Shape(version, address, offset)
    if table not in tables:
        tables[table] = _abbreviations(sections.abbreviations, table, shape)
    unit = Unit(cursor.at, end, shape, tables[table])
    _read_root(unit, sections)
    return unit


def _abbreviations(data: bytes, at: int, shape: Shape) -> dict[int, Abbreviation]:
    cursor = Cursor(data, at, ".debug_abbrev")
    found: dict[int, Abbreviation] = {}
    while code := cursor.leb():
        tag, has_children = cursor.leb(), bool(cursor.number(1))
        attributes = []
        while True:
            attribute, form = cursor.leb(), cursor.leb()
            value = cursor.leb() if form == forms.IMPLICIT else 0
            if not attribute and not form:
                break
            attributes.append((attribute, form, value))
        sizes = [forms.fixed_size(form, shape) for _, form, _ in attributes]
        known = [size for size in sizes if size is not None]
        total = sum(known) if len(known) == len(sizes) else None
        found[code] = Abbreviation(tag, has_children, tuple(attributes), total)
        if len(found) > MAX_ABBREVIATIONS:
            raise LimitError(f".debug_abbrev has more than {MAX_ABBREVIATIONS} codes in a table")
    return found


def _read_root(unit: Unit, sections: Sections) -> None:
    """Read the unit's line program, string base and folder from its first entry."""
    cursor = Cursor(sections.info, unit.at, ".debug_info", unit.end)
    code = cursor.leb()
    if not code:
        return  # the unit is empty
    abbreviation = _abbreviation(unit, cursor, code)
    folder: tuple[int, int] | bytes = b""
    for attribute, form, value in _values(cursor, unit.shape, abbreviation):
        if attribute == STMT_LIST and isinstance(value, int):
            unit.line_program = value
        elif attribute == STR_OFFSETS_BASE and isinstance(value, int):
            unit.string_base = value
        elif attribute == COMP_DIR:
            folder = value if isinstance(value, bytes) else (form, value)
    unit.compiled_in = folder if isinstance(folder, bytes) else _text(unit, *folder, sections)


def _abbreviation(unit: Unit, cursor: Cursor, code: int) -> Abbreviation:
    found = unit.abbreviations.get(code)
    if found is None:
        raise FormatError(f".debug_info: entry at {cursor.at:#x} has code {code}, unknown")
    return found


def _values(
    cursor: Cursor, shape: Shape, abbreviation: Abbreviation
) -> Iterator[tuple[int, int, int | bytes]]:
    """Yield attribute, form and value for each attribute; inline strings are bytes."""
    for attribute, written, implicit in abbreviation.attributes:
        form = written
        if form == forms.INDIRECT:
            form = cursor.leb()
        if form == forms.STRING:
            yield attribute, form, cursor.string()
        elif form == forms.IMPLICIT:
            yield attribute, form, implicit
        else:
            yield attribute, form, forms.number(cursor, form, shape)


def _text(unit: Unit, form: int, value: int, sections: Sections) -> bytes:
    if form == forms.LINE_STRP:
        return Cursor(sections.line_strings, value, ".debug_line_str").string()
    at = string_at(unit, form, value, sections)
    return b"" if at is None else Cursor(sections.strings, at, ".debug_str").string()


def string_at(unit: Unit, form: int, value: int, sections: Sections) -> int | None:
    """Return the offset of an attribute's string in .debug_str; None for another section."""
    if form == forms.STRP:
        return value
    if form not in forms.STRX or unit.string_base is None:
        return None
    at = unit.string_base + value * unit.shape.offset
    return Cursor(sections.string_offsets, at, ".debug_str_offsets").number(unit.shape.offset)


def may_name(unit: Unit, wanted: frozenset[int] | set[int], sections: Sections) -> bool:
    """Return whether a unit can use a string at an offset in `wanted`.

    The unit's table of string offsets decides; a unit without one may use any string.
    """
    if unit.string_base is None or unit.shape.offset != 4 or unit.string_base < 8:
        return True
    cursor = Cursor(sections.string_offsets, unit.string_base - 8, ".debug_str_offsets")
    size = cursor.number(4) - 4  # the version and padding count
    cursor.skip(4)
    offsets = array("I")
    offsets.frombytes(cursor.take(size // 4 * 4))
    return not wanted.isdisjoint(offsets)


def functions(
    unit: Unit,
    sections: Sections,
    name_of: Callable[[int], bytes | None],
    wanted: set[bytes],
    budget: list[int],
) -> Iterator[Function]:
    """Yield the functions of a unit whose names are `wanted`.

    `name_of` returns the string at an offset. Each entry read decrements the one number in
    `budget`. A function without a file attribute has the file of the function around it.
    """
    cursor = Cursor(sections.info, unit.at, ".debug_info", unit.end)
    around: list[int | None] = []
    while cursor.at < unit.end:
        code = cursor.leb()
        if not code:
            if around:
                around.pop()
            continue
        budget[0] -= 1
        if budget[0] < 0:
            raise LimitError(f"debug information of more than {MAX_ENTRIES} entries is not read")
        abbreviation = _abbreviation(unit, cursor, code)
        file = around[-1] if around else None
        if abbreviation.tag == SUBPROGRAM:
            found = _function(cursor, unit, abbreviation, sections, name_of, wanted)
            file = file if found.file is None else found.file
            if found.name:
                yield found._replace(file=file)
        elif abbreviation.size is not None:
            cursor.skip(abbreviation.size)
        else:
            for _ in _values(cursor, unit.shape, abbreviation):
                pass
        if abbreviation.has_children:
            around.append(file)


def _function(
    cursor: Cursor,
    unit: Unit,
    abbreviation: Abbreviation,
    sections: Sections,
    name_of: Callable[[int], bytes | None],
    wanted: set[bytes],
) -> Function:
    name, file, line = b"", None, 0
    for attribute, form, value in _values(cursor, unit.shape, abbreviation):
        if attribute == NAME or attribute in LINKAGE_NAMES:
            if isinstance(value, bytes):
                name = value if value in wanted else name
                continue
            at = string_at(unit, form, value, sections)
            name = (name_of(at) if at is not None else None) or name
        elif attribute == DECL_FILE and isinstance(value, int):
            file = value
        elif attribute == DECL_LINE and isinstance(value, int):
            line = value
    return Function(name, file, line)
