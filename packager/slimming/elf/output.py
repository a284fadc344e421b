# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write a layout: contents are copied inside the kernel, and zeros take no disk blocks."""

from __future__ import annotations

import os
from itertools import chain
from typing import BinaryIO

from packager.errors import FormatError
from packager.files.copying import copy, put
from packager.files.reader import Reader
from packager.slimming.elf.layout import Layout
from packager.writers.streams import Copied


def write(out: BinaryIO, data: Reader, layout: Layout, copied: Copied) -> None:
    """Write the result to an empty file."""
    fd = out.fileno()
    os.ftruncate(fd, len(data) - layout.holes.size())
    for extent in layout.parts(len(data)):
        piece, at = extent.piece, layout.holes.place(extent.offset)
        if piece is None:
            continue
        if piece.offset < 0:
            put(fd, memoryview(piece.data), at)
            copied(piece.size)
        elif copy(data.fileno(), data.at + piece.offset, piece.size, fd, at, copied) < piece.size:
            raise FormatError(f"bytes at {piece.offset:#x} end while they are copied")
    for at, content in chain(layout.late, layout.patches):
        put(fd, memoryview(content), at)
