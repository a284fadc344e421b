# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write the result of an edit, streamed, so that images may be of any size."""

from __future__ import annotations

import os
from bisect import bisect_left
from typing import BinaryIO

from packager.editing.layout.result import Layout
from packager.editing.linked import LinkedFile
from packager.editing.plan import Kept
from packager.errors import FormatError
from packager.files.copying import copy, put
from packager.files.reader import Reader
from packager.writers.elf_types import FilePart
from packager.writers.streams import Copied


def write(out: BinaryIO, file: LinkedFile, layout: Layout, copied: Copied) -> None:
    """Write the result of an edit to an empty file."""
    writer = _Writer(out.fileno(), file, layout, copied)
    os.ftruncate(out.fileno(), layout.size)
    for kept in layout.kept:
        writer.keep(kept, kept.offset)
    for at, piece in layout.chunks:
        if isinstance(piece, bytes):
            put(out.fileno(), memoryview(piece), at)
        elif isinstance(piece, Kept):
            writer.keep(piece, at)
        elif isinstance(piece, FilePart):
            writer.copy_image(piece, at)


class _Writer:
    def __init__(self, fd: int, file: LinkedFile, layout: Layout, copied: Copied) -> None:
        self._fd = fd
        self._file = file
        self._patches = layout.patches
        self._copied = copied

    def keep(self, piece: Kept, at: int) -> None:
        """Copy a range of the file to `at`, with its patches applied. Holes stay holes."""
        path = str(self._file.path)
        self._copy(path, self._file.data.slice(piece.offset, piece.size, path), at)
        end = piece.offset + piece.size
        for number in range(bisect_left(self._patches, (piece.offset,)), len(self._patches)):
            offset, content = self._patches[number]
            if offset >= end:
                break
            if offset + len(content) <= end:
                put(self._fd, memoryview(content), at + offset - piece.offset)

    def copy_image(self, piece: FilePart, at: int) -> None:
        """Copy the bytes of a new image to `at`."""
        self._copy(f"image {piece.path}", piece.data, at)

    def _copy(self, what: str, data: Reader, at: int) -> None:
        done = copy(data.fileno(), data.at, len(data), self._fd, at, self._copied)
        if done < len(data):
            raise FormatError(f"{what} ends while it is copied")
