# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The symbols that relocations name by number."""

from __future__ import annotations

from array import array
from collections.abc import Iterable

from packager.elf.headers import SYMBOL, Elf, Section
from packager.elf.strings import Strings
from packager.errors import FormatError

UNKNOWN = (1 << 64) - 1  # the value of a symbol that another file defines


class Symbols:
    """Values and names of symbols by number."""

    def __init__(self, names: Iterable[int], values: Iterable[int], strings: Strings) -> None:
        self._names = array("I", names)
        self._values = array("Q", values)
        self._strings = strings

    def value(self, number: int) -> int | None:
        """Return the value of a symbol; None if another file defines it."""
        try:
            value = self._values[number]
        except IndexError as error:
            count = len(self._values)
            raise FormatError(f"a relocation names symbol {number} of {count}") from error
        return None if value == UNKNOWN else value

    def name(self, number: int) -> str | None:
        """Return the name of a symbol; None if it has none. Call `value` first."""
        at = self._names[number]
        return self._strings[at] if at else None


def linked(elf: Elf, kind: int) -> Symbols:
    """Read the symbol table of a linked file, whose values are addresses."""
    table = table_of(elf, kind)
    names, values = array("Q"), array("Q")
    for words in elf.words(SYMBOL.size, elf.content(table), table.name):
        heads = words[::3]  # st_name, st_info, st_other and st_shndx, which is 0 if undefined
        names.extend(head & 0xFFFFFFFF for head in heads)
        values.extend(
            value if head >> 48 else UNKNOWN for head, value in zip(heads, words[1::3], strict=True)
        )
    return Symbols(names, values, elf.strings(table.link, f"names of {table.name}"))


def table_of(elf: Elf, kind: int) -> Section:
    """Return the symbol table of a section type that relocations number their symbols by."""
    tables = elf.of_type(kind)
    if not tables:
        raise FormatError("relocations name symbols but there is no table of symbols")
    return tables[0]
