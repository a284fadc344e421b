# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The relocations of an object to containers; a container moves only with all of them."""

from __future__ import annotations

from collections.abc import Iterator

from packager.elf.headers import RELA, SHT_RELA, SYMBOL, Elf, Section
from packager.errors import FormatError, UsageError
from packager.slimming.elf.layout import Patch
from packager.slimming.elf.packing import Packed

ADDEND_AT = 16
STT_SECTION = 3


def object_pointers(elf: Elf, packed: Packed) -> list[Patch]:
    """Return the new addends of relocations. Raises UsageError if a container must not move."""
    addresses = packed.addresses
    moved = {old for old, new in addresses.items() if old != new}
    found: list[Patch] = []
    seen: set[int] = set()
    for table in elf.of_type(SHT_RELA) if moved else ():
        if table.info == packed.section.number:
            raise UsageError("relocations change words inside it")
        for at, target, is_section in _references(elf, table, packed.section):
            if target not in addresses:
                raise UsageError(f"a relocation leads to {target:#x}, inside a container")
            seen.add(target)
            if is_section:
                found.append((at, addresses[target].to_bytes(8, "little")))
    lost = min(moved - seen, default=None)
    if lost is not None:
        raise UsageError(f"no relocation leads to the container at {lost:#x}")
    return found


def _references(elf: Elf, table: Section, section: Section) -> Iterator[tuple[int, int, bool]]:
    """Yield the relocations that refer into a section.

    Each has the addend's place, the target, and whether the target counts from the section's start.
    """
    if not 0 < table.link < len(elf.sections):
        raise FormatError(f"section {table.name} names no symbol table")
    rows = elf.rows(SYMBOL, elf.content(elf.sections[table.link]), "symbols")
    symbols = {
        number: (row[1] & 15 == STT_SECTION, row[4])
        for number, row in enumerate(rows)
        if row[3] == section.number
    }
    for number, (_, info, addend) in enumerate(elf.rows(RELA, elf.content(table), table.name)):
        if found := symbols.get(info >> 32):
            is_section, value = found
            if addend and not is_section:
                raise UsageError(f"a relocation in {table.name} leads behind a symbol")
            yield table.offset + number * RELA.size + ADDEND_AT, value + addend, is_section
