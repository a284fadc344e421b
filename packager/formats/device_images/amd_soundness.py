# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Judge AMD code objects without reading their symbols.

A library has hundreds of code objects with thousands of kernels each. Usual code objects are judged
by whole tables. All others are left to device_elf, which names the fault.
"""

from __future__ import annotations

from packager.elf.headers import SHT_DYNSYM, SHT_SYMTAB_SHNDX, SYMBOL, Elf, Section
from packager.files.reader import MAX_STRING
from packager.formats.device_images import kernel_resources
from packager.formats.host_records import entries

LARGEST = 1 << 26  # table that is read whole
HALF = 4  # bytes of a word's half
END = b"\0"
DESCRIPTOR = b".kd" + END  # ends the name of a kernel's descriptor


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
        kernels += names.count(DESCRIPTOR)
    return kernels <= kernel_resources.described(elf)


def _names(elf: Elf, table: Section) -> bytes | None:
    """Return the names of symbols, concatenated; None if one is missing or too long."""
    strings = elf.string_table(table.link, f"names of {table.name}")
    symbols = elf.content(table)
    if max(len(strings), len(symbols)) > LARGEST:
        return None
    text, last = strings.bytes(), 0
    for words in elf.words(SYMBOL.size, symbols, table.name):
        # First halves of the symbols' first words; a loop over the words takes ten times as long.
        halves = memoryview(words).cast("B").cast("I")
        last = max(last, max(halves[:: SYMBOL.size // HALF]))
    is_ended = last < len(text) and text.endswith(END)
    return text if is_ended and _are_short(text) else None


def _are_short(text: bytes) -> bool:
    """Return whether no name is too long, by the last end in so many bytes."""
    start = 0
    while start < len(text):
        start = text.rfind(END, start, start + MAX_STRING) + 1
        if not start:
            return False
    return True
