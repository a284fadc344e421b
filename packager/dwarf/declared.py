# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Find the source files of functions by name."""

from __future__ import annotations

from collections.abc import Collection
from struct import Struct

from packager.dwarf import addressed, lines, units
from packager.dwarf.place import Place, offsets
from packager.dwarf.relocated import relocated
from packager.elf.headers import Elf, Section, has_debug_information
from packager.errors import FormatError, LimitError
from packager.files.names import text
from packager.files.reader import Reader
from packager.formats.compressed.inflate import inflate

# Largest section that is read: a larger one takes too long for the name of a file.
MAX_SECTION = 1 << 26
# Longest name stored in the entries themselves; ptxas stores all names there.
SHORT = 3
SHF_COMPRESSED = 0x800
COMPRESSED = Struct("<IIQQ")  # method, reserved, size, alignment
METHODS = {1: "zlib", 2: "zstd"}
OLD_MAGIC, OLD_COMPRESSED = b"ZLIB", Struct(">4sQ")  # binutils' old form, with the size
SECTIONS = (".debug_info", ".debug_abbrev", ".debug_str", ".debug_line_str",
            ".debug_str_offsets", ".debug_line")  # fmt: skip


def places(elf: Elf, names: Collection[str]) -> dict[str, Place]:
    """Return the declarations of these functions, from debug information.

    Raises FormatError if it is malformed or exceeds a limit.
    """
    if not names or not has_debug_information(elf):
        return {}
    found = sections_of(elf)
    wanted = {name.encode() for name in names}
    result = _declared(found, wanted)
    missing = {name for name in wanted if name.decode() not in result}
    return result | addressed.places(elf, found, missing)


def sections_of(elf: Elf) -> units.Sections:
    """Return the bytes of the sections of debug information."""
    return units.Sections(*(_content(elf, name) for name in SECTIONS))


def _declared(found: units.Sections, wanted: set[bytes]) -> dict[str, Place]:
    """Return the places of the `wanted` functions that have entries in debug information."""
    strings = offsets(found.strings, wanted)
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


def sections(elf: Elf, name: str) -> list[Section]:
    """Return the sections of a name: .zdebug_ for .debug_ where the old way compressed them."""
    return elf.named(name) + elf.named(f".z{name[1:]}")


def _content(elf: Elf, name: str) -> bytes:
    for section in sections(elf, name)[:1]:
        data = inflated(elf, section)
        if len(data) > MAX_SECTION:
            raise LimitError(f"{name} of {len(data)} bytes is larger than {MAX_SECTION}")
        content = data.bytes(what=name)
        return relocated(elf, section, content) if elf.is_object else content
    return b""


def inflated(elf: Elf, section: Section) -> Reader:
    """Return the bytes of a section of debug information, which may be compressed."""
    data = elf.content(section)
    what, layout = f"header of {section.name}", COMPRESSED
    if section.flags & SHF_COMPRESSED:
        method, _, size, _ = data.unpack(COMPRESSED, 0, what)
    elif section.name.startswith(".z"):
        magic, size = data.unpack(OLD_COMPRESSED, 0, what)
        method, layout = 1 if magic == OLD_MAGIC else 0, OLD_COMPRESSED
    else:
        return data
    if method not in METHODS:
        raise FormatError(f"{section.name} has the unknown compression method {method}")
    if size > MAX_SECTION:
        raise LimitError(f"{section.name} of {size} bytes is larger than {MAX_SECTION}")
    rest = data.slice(layout.size, len(data) - layout.size, section.name)
    return inflate(rest, METHODS[method], size, section.name)
