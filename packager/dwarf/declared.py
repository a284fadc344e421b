"""The source files of functions that are looked for by name."""

from __future__ import annotations

import re
from collections.abc import Collection
from struct import Struct

from packager.dwarf import lines, units
from packager.dwarf.place import Place
from packager.elf import Elf, Section
from packager.errors import FormatError, LimitError
from packager.formats.inflate import inflate
from packager.reader import Reader, text

# Of one section; what is larger takes longer than anyone waits for the name of a file.
MAX_SECTION = 1 << 26
# Names up to this many bytes stand in the entries themselves; with ptxas all names do.
SHORT = 3
SHF_COMPRESSED = 0x800
COMPRESSED = Struct("<IIQQ")  # method, reserved, size, alignment
METHODS = {1: "zlib", 2: "zstd"}
SECTIONS = (".debug_info", ".debug_abbrev", ".debug_str", ".debug_line_str",
            ".debug_str_offsets", ".debug_line")  # fmt: skip
# Bytes that are searched for each of some names; beyond, for all names in one pass.
MAX_SEARCHED = 1 << 30


def is_there(elf: Elf) -> bool:
    """Whether a linked file has debug information; that of an object is to be relocated yet."""
    return not elf.is_object and bool(elf.named(SECTIONS[0]))


def places(elf: Elf, names: Collection[str]) -> dict[str, Place]:
    """Where the functions of these names are declared, as far as debug information says.

    Raises FormatError when it is malformed or larger than what is read.
    """
    if not names or not is_there(elf):
        return {}
    found = units.Sections(*(_content(elf, name) for name in SECTIONS))
    wanted = {name.encode() for name in names}
    strings = _offsets(found.strings, wanted)
    texts = lines.Texts(found.strings, found.line_strings)
    result: dict[str, Place] = {}
    if found.strings and not strings and all(len(name) > SHORT for name in wanted):
        return result
    budget = [units.MAX_ENTRIES]
    for unit in units.units(found):
        if unit.line_program is None or not units.may_name(unit, set(strings), found):
            continue
        files: dict[int, bytes] | None = None
        for function in units.functions(unit, found, strings.get, wanted, budget):
            if files is None:
                files = lines.files(found.lines, unit.line_program, unit.compiled_in, texts)
            path = files.get(function.file) if function.file is not None else None
            if path:
                result.setdefault(function.name.decode(), Place(text(path), function.line))
        if len(result) == len(wanted):
            break
    return result


def _content(elf: Elf, name: str) -> bytes:
    for section in elf.named(name)[:1]:
        data = _inflated(elf, section)
        if len(data) > MAX_SECTION:
            raise LimitError(f"{name} of {len(data)} bytes is larger than {MAX_SECTION}")
        return data.bytes(what=name)
    return b""


def _inflated(elf: Elf, section: Section) -> Reader:
    data = elf.content(section)
    if not section.flags & SHF_COMPRESSED:
        return data
    method, _, size, _ = data.unpack(COMPRESSED, 0, f"header of {section.name}")
    if method not in METHODS:
        raise FormatError(f"{section.name} is compressed by method {method}, which is not known")
    if size > MAX_SECTION:
        raise LimitError(f"{section.name} of {size} bytes is larger than {MAX_SECTION}")
    rest = data.slice(COMPRESSED.size, len(data) - COMPRESSED.size, section.name)
    return inflate(rest, METHODS[method], size, section.name)


def _offsets(strings: bytes, wanted: set[bytes]) -> dict[int, bytes]:
    """Where in .debug_str the names are; linkers put them at the end of others, too."""
    if len(wanted) * len(strings) <= MAX_SEARCHED:
        return {
            found.start(): name
            for name in wanted
            for found in re.finditer(re.escape(name + b"\0"), strings)
        }
    parts = re.finditer(rb"[^\0]+", strings)
    return {part.start(): part[0] for part in parts if part[0] in wanted}
