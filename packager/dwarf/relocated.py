# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Relocate sections of debug information in objects, which refer to each other."""

from __future__ import annotations

from packager.elf.headers import RELA, SHT_RELA, Elf, Section
from packager.errors import FormatError

# Relocations that store a symbol's value: type to size, by machine.
SIZES = {
    "x86_64": {1: 8, 10: 4, 11: 4},
    "aarch64": {257: 8, 258: 4},
    "riscv64": {2: 8, 1: 4},
    "ppc64le": {38: 8, 1: 4},
    "amdgcn": {3: 8, 6: 4},
}


def relocated(elf: Elf, section: Section, data: bytes) -> bytes:
    """Return the bytes of a section, relocated as if each section were loaded at 0."""
    tables = [t for t in elf.of_type(SHT_RELA) if t.info == section.number]
    sizes = SIZES.get(elf.machine, {})
    if not tables or not sizes:
        return data
    result = bytearray(data)
    for table in tables:
        if not 0 < table.link < len(elf.sections):
            raise FormatError(f"{table.name}: there is no section {table.link} for its symbols")
        values = [symbol.value for symbol in elf.symbols(elf.sections[table.link])]
        for place, info, addend in elf.rows(RELA, elf.content(table), table.name):
            size = sizes.get(info & 0xFFFFFFFF)
            number = info >> 32
            if size and number < len(values) and place + size <= len(result):
                value = (values[number] + addend) % (1 << 8 * size)
                result[place : place + size] = value.to_bytes(size, "little")
    return bytes(result)
