# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Facts about an image for the tests, read apart from the code under test."""

from __future__ import annotations

import struct
from pathlib import Path

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import StringTableSection, Symbol, SymbolTableSection

TABLE_RECORD = struct.Struct("<QQQ")


def exported(path: Path) -> set[str]:
    """Return the names that a shared object defines."""
    return {symbol.name for symbol in _dynamic_symbols(path) if symbol["st_shndx"] != "SHN_UNDEF"}


def undefined(path: Path) -> set[str]:
    """Return the names that a shared object leaves undefined."""
    names = {symbol.name for symbol in _dynamic_symbols(path) if symbol["st_shndx"] == "SHN_UNDEF"}
    return names - {""}


def needed(path: Path) -> list[str]:
    """Return the DT_NEEDED names."""
    with path.open("rb") as file:
        elf = ELFFile(file)
        for section in elf.iter_sections():
            if isinstance(section, DynamicSection):
                names = elf.get_section(section["sh_link"])
                assert isinstance(names, StringTableSection)
                return [names.get_string(tag["d_val"]) for tag in section.iter_tags("DT_NEEDED")]
    return []


def entry_table(path: Path) -> list[tuple[str, int]]:
    """Name and size of each record of the image's own table, checking that addresses resolve."""
    with path.open("rb") as file:
        elf = ELFFile(file)
        section = elf.get_section_by_name("omptarget_entries")
        assert section
        assert section["sh_addralign"] == 8
        words = _relocated(elf)
        rows = []
        for offset in range(0, section["sh_size"], TABLE_RECORD.size):
            at = section["sh_addr"] + offset
            size = TABLE_RECORD.unpack_from(section.data(), offset)[2]
            name = _string(elf, words[at + 8])
            assert words[at] == _address(elf, name)
            rows.append((name, size))
        return rows


def _dynamic_symbols(path: Path) -> list[Symbol]:
    with path.open("rb") as file:
        return list(_dynsym(ELFFile(file)).iter_symbols())


def _dynsym(elf: ELFFile) -> SymbolTableSection:
    section = elf.get_section_by_name(".dynsym")
    assert isinstance(section, SymbolTableSection)
    return section


def _relocated(elf: ELFFile) -> dict[int, int]:
    """Return the value of each relocated word of a shared object loaded at 0."""
    symbols = _dynsym(elf)
    return {
        relocation["r_offset"]: relocation["r_addend"]
        + symbols.get_symbol(relocation["r_info_sym"])["st_value"]
        for section in elf.iter_sections()
        if isinstance(section, RelocationSection)
        for relocation in section.iter_relocations()
    }


def _address(elf: ELFFile, name: str) -> int:
    symbols = _dynsym(elf).get_symbol_by_name(name)
    assert symbols
    return int(symbols[0]["st_value"])


def _string(elf: ELFFile, address: int) -> str:
    for section in elf.iter_sections():
        if section["sh_addr"] <= address < section["sh_addr"] + section["sh_size"]:
            return section.data()[address - section["sh_addr"] :].split(b"\0")[0].decode()
    raise AssertionError(f"nothing at {address:#x}")
