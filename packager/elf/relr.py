# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packed relative relocations (DT_RELR): addresses of words, and bitmaps of the 63 words behind."""

from __future__ import annotations

from collections.abc import Iterator

from packager.elf.headers import DT_RELR, MAX_ROWS, WORD, Elf
from packager.errors import FormatError, LimitError

DT_RELRSZ = 35
WORDS = 63  # words that a bitmap describes


def relr_places(elf: Elf) -> Iterator[int]:
    """Yield the address of each word that the loader relocates by DT_RELR."""
    dynamic = elf.dynamic()
    address, size = dynamic.get(DT_RELR, [0])[0], dynamic.get(DT_RELRSZ, [0])[0]
    if not size:
        return
    offset = elf.offset(address, size)
    if offset is None:
        raise FormatError(f"packed relocations at address {address:#x} are not in the file")
    at = found = 0
    table = elf.data.slice(offset, size, "packed relocations")
    for (word,) in elf.rows(WORD, table, "packed relocations"):
        if not word & 1:
            yield word
            at = word + WORD.size
            continue
        found += word.bit_count()
        if found > MAX_ROWS:
            raise LimitError(f"more than {MAX_ROWS} packed relocations are not read")
        yield from (at + n * WORD.size for n in range(WORDS) if word >> n + 1 & 1)
        at += WORDS * WORD.size
