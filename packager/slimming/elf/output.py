# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write a layout: contents are copied inside the kernel, and zeros take no disk blocks."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from itertools import chain
from typing import BinaryIO

from packager.errors import FormatError
from packager.files.copying import copy, put
from packager.files.reader import Reader
from packager.processes.forked import forked
from packager.slimming.elf.layout import Layout
from packager.slimming.pieces import Piece
from packager.writers.streams import Copied

LARGE = 1 << 24  # least size of a file for a child process, which takes time to start
AT_ONCE = 1 << 26  # bytes that the kernel copies in one call


def write(
    out: BinaryIO,
    data: Reader,
    layout: Layout,
    copied: Copied,
    meanwhile: Sequence[Callable[[], None]] = (),
) -> None:
    """Write the result to an empty file.

    The steps of `meanwhile` run, and may raise, while a child process copies a large file.
    """
    fd = out.fileno()
    size = len(data) - layout.holes.size()
    os.ftruncate(fd, size)
    copier = _Copier(fd, data, layout, copied)
    if size < LARGE:
        _one_by_one(copier, meanwhile)
    else:
        with forked(copier.run) as finish:
            for step in meanwhile:
                step()
            finish()
    for at, content in chain(layout.late, layout.patches):
        put(fd, memoryview(content), at)


class _Copier:
    """Copies the parts of a result."""

    def __init__(self, fd: int, data: Reader, layout: Layout, copied: Copied) -> None:
        self._fd, self._source, self._start, self._copied = fd, data.fileno(), data.at, copied
        self._layout, self._size = layout, len(data)

    def run(self) -> None:
        """Copy all parts."""
        for part in self._layout.parts(self._size):
            if part.piece is not None:
                self._put(part.piece, self._layout.holes.place(part.offset))

    def _put(self, piece: Piece, at: int) -> None:
        if piece.offset < 0:
            put(self._fd, memoryview(piece.data), at)
            self._copied(piece.size)
            return
        start = self._start + piece.offset
        done = copy(self._source, start, piece.size, self._fd, at, self._copied, AT_ONCE)
        if done < piece.size:
            raise FormatError(f"bytes at {piece.offset:#x} end while they are copied")


def _one_by_one(copier: _Copier, meanwhile: Sequence[Callable[[], None]]) -> None:
    for step in meanwhile:
        step()
    copier.run()
