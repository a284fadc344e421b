# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Regions of clang 14 that have no entry: `.NAME.region_id.N` among the names of symbols.

Clang names a kernel after file, function and line. Of two regions with one name, as a header that
is included twice in a function makes them, clang 14 lists the first alone; LLVM gives the address
that stands for the second a number, and launching it ends the program. Later clangs number names.
"""

from __future__ import annotations

from collections.abc import Iterator

from packager.elf.headers import SHT_SYMTAB, Elf
from packager.patterns import pattern

_NUMBERED = pattern(rb"\.([\w$.]{1,4096})\.region_id\.\d{1,9}\0")
MAX_NAMES = 1 << 12


def unlisted(elf: Elf) -> tuple[str, ...]:
    """Return the names that occur more than once. Raises FormatError for a malformed section."""
    found: dict[str, None] = {}
    for table in elf.of_type(SHT_SYMTAB)[:1]:
        for name in _names(elf, table.link):
            found.setdefault(name)
            if len(found) >= MAX_NAMES:
                break
    return tuple(found)


def _names(elf: Elf, section: int) -> Iterator[str]:
    if not 0 < section < len(elf.sections):
        return
    rest = b""
    for piece in elf.content(elf.sections[section]).pieces():
        whole, _, rest = (rest + piece).rpartition(b"\0")
        rest = rest[-8192:]
        for match in _NUMBERED.finditer(whole + b"\0"):
            yield match[1].decode()
