# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Find the source files of functions without an entry, by their addresses."""

from __future__ import annotations

from collections.abc import Collection

from packager.dwarf import lines, rows, units
from packager.dwarf.place import Place, offsets
from packager.dwarf.units import Sections
from packager.elf.headers import STT_FUNC, SYMBOL, Elf, Symbol
from packager.files.names import text

# Largest string table that is read.
MAX_NAMES = 1 << 28
# Machines whose functions all begin at 0: in a cubin each has a section of its own.
WITHOUT_ADDRESSES = ("nvptx64",)


def places(elf: Elf, sections: Sections, names: Collection[bytes]) -> dict[str, Place]:
    """Return the source places of these functions, from line numbers."""
    if elf.is_object or elf.machine in WITHOUT_ADDRESSES or not (names and sections.lines):
        return {}
    wanted = _addresses(elf, names)
    texts = lines.Texts(sections.strings, sections.line_strings)
    budget = [rows.MAX_INSTRUCTIONS]
    programs: set[int] = set()
    found: dict[str, Place] = {}
    for unit in units.units(sections) if wanted else ():
        at = unit.line_program
        if at is None or at in programs:
            continue
        programs.add(at)
        ours = rows.at_addresses(sections.lines, at, wanted, budget)
        files = lines.files(sections.lines, at, unit.compiled_in, texts) if ours else {}
        for row in ours:
            if row.file in files:
                found.setdefault(wanted[row.address], Place(text(files[row.file]), row.line))
        if len(found) == len(wanted):
            break
    return found


def _addresses(elf: Elf, names: Collection[bytes]) -> dict[int, str]:
    """Return the names of the functions in `names`, by their addresses."""
    found: dict[int, str] = {}
    for table in elf.symbol_tables():
        what = f"names of {table.name}"
        strings = elf.string_table(table.link, what)
        if len(strings) > MAX_NAMES:
            continue
        known = offsets(strings.bytes(what=what), set(names))
        for symbol in map(Symbol._make, elf.rows(SYMBOL, elf.content(table), table.name)):
            if symbol.name_at in known and symbol.type == STT_FUNC and symbol.is_defined:
                found.setdefault(symbol.value, known[symbol.name_at].decode())
    return found
