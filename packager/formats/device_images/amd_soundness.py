# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Judge AMD code objects, where nobody asks for their symbols.

A library has hundreds of code objects with thousands of kernels each. The usual ones are judged by
whole tables; every other one is left to device_elf, which names the fault.
"""

from __future__ import annotations

from packager.elf.headers import (
    NAME,
    SHT_DYNSYM,
    SHT_SYMTAB_SHNDX,
    SYMBOL,
    WORD,
    Elf,
    Section,
)
from packager.files.reader import MAX_STRING
from packager.formats.device_images import kernel_resources
from packager.formats.host_records import entries

LARGEST = 1 << 26  # table that is read whole
DESCRIPTOR = b".kd"


def is_sound(elf: Elf) -> bool:
    """Return whether names and metadata can be read, and the metadata has as many kernels.

    Raises FormatError for malformed metadata.
    """
    is_plain = not elf.is_object and not elf.of_type(SHT_SYMTAB_SHNDX)
    if not is_plain or any(entries.expected(section.name) for section in elf.sections):
        return False
    kernels = 0
    for table in elf.of_type(SHT_DYNSYM)[:1]:
        names = _names(elf, table)
        if names is None:
            return False
        kernels += sum(name.endswith(DESCRIPTOR) for name in names)
    return kernels <= kernel_resources.described(elf)


def _names(elf: Elf, table: Section) -> list[bytes] | None:
    """Return the names that symbols have; None where any of them is not there or too long."""
    strings = elf.string_table(table.link, f"names of {table.name}")
    symbols = elf.content(table)
    if max(len(strings), len(symbols)) > LARGEST:
        return None
    text, last = strings.bytes(), 0
    for words in elf.words(SYMBOL.size, symbols, table.name):
        last = max([last, *(word & NAME for word in words[:: SYMBOL.size // WORD.size])])
    names = text.split(b"\0")
    is_ended = last < len(text) and not names[-1]
    return names if is_ended and max(map(len, names)) < MAX_STRING else None
