# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Read map types of regions from clang's symbols: `.offload_maptypes`, 64 bits each.

Objects have the symbols, and so do programs of some linkers; stripped files have none.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from packager.elf.headers import SHT_SYMTAB, STT_OBJECT, WORD, Elf, Symbol
from packager.patterns import pattern

_NAMES = pattern(rb"(?<=\0)(?:\.L)?\.offload_maptypes[.\d]*(?=\0)")
# Bits of a map type up to LLVM 23, NON_CONTIG, and the number of the enclosing row.
KNOWN = 0xFFFF | 1 << 44 | 0xFFFF << 48
MAX_NAMES = 1 << 26  # bytes of names that are looked through
MAX_ARRAYS = 1 << 16
MAX_SIZE = 1 << 16  # bytes of one


def unknown_bits(elf: Elf) -> int:
    """Return the bits that no known release sets. Raises FormatError for a malformed section."""
    found = 0
    for types in islice(_arrays(elf), MAX_ARRAYS):
        for (bits,) in WORD.iter_unpack(types):
            found |= bits & ~KNOWN
    return found


def _arrays(elf: Elf) -> Iterator[bytes]:
    for table in elf.of_type(SHT_SYMTAB)[:1]:
        names = elf.string_table(table.link, "symbol names")
        text = names.bytes(0, min(len(names), MAX_NAMES), "symbol names")
        wanted = {match.start() for match in _NAMES.finditer(text)}
        for symbol in elf.symbols(table) if wanted else ():
            if symbol.name_at in wanted and symbol.type == STT_OBJECT:
                yield _array(elf, symbol)


def _array(elf: Elf, symbol: Symbol) -> bytes:
    """Return an array's bytes in whole words; b"" if it lies outside its section."""
    if not 0 < symbol.section < len(elf.sections):
        return b""
    section = elf.sections[symbol.section]
    start = symbol.value - (0 if elf.is_object else section.address)
    size = min(symbol.size, MAX_SIZE) // WORD.size * WORD.size
    if not section.has_bytes or not 0 <= start <= section.size - size:
        return b""
    return elf.content(section).bytes(start, size, "map types")
