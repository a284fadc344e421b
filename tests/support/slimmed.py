# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Containers of files with some of their images left out, for tests of shorter files."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from packager.elf import headers
from packager.files.reader import Reader, open_reader
from packager.formats.containers import cuda_fatbin
from packager.slimming.pieces import Piece, Rewritten

ENTRY_SIZES_AT = 4  # of an entry: the size of its header, and that of its image


def kept(path: Path, archs: Collection[int]) -> list[Rewritten]:
    """The CUDA fat binaries of a file with the images for these architectures alone."""
    with open_reader(path) as data:
        elf = headers.read(data)
        return [
            one
            for name in cuda_fatbin.SECTIONS
            for section in elf.named(name)
            for one in _of_section(data, section.offset, section.offset + section.size, archs)
        ]


def _of_section(
    data: Reader, start: int, end: int, archs: Collection[int]
) -> Iterator[Rewritten]:
    at = start
    while at < end:
        if data.bytes(at, 4) != cuda_fatbin.MAGIC:
            at += cuda_fatbin.PADDING
            continue
        one = fatbin(data, at, archs)
        yield one
        at += one.size


def fatbin(data: Reader, at: int, archs: Collection[int]) -> Rewritten:
    """One fat binary with the images for these architectures alone."""
    head = data.bytes(at, cuda_fatbin.HEADER.size)
    _, _, header_size, size = cuda_fatbin.HEADER.unpack(head)
    stop = at + header_size + size
    place, pieces = at + header_size, []
    while place < stop:
        row = data.unpack(cuda_fatbin.ENTRY, place, "entry")
        whole = row[2] + row[3]
        if row[-1] in archs:
            pieces.append(Piece(place, whole))
        place += whole
    new = head[:8] + sum(p.size for p in pieces).to_bytes(8, "little") + head[16:]
    return Rewritten(at, stop - at, 8, (Piece(-1, len(new), new), *pieces))
