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
from packager.slimming.elf.layout import Layout
from packager.slimming.pieces import Piece
from packager.writers.streams import Copied

LARGE = 1 << 24  # least size of a result for a thread, which takes time to start
AT_ONCE = 1 << 26  # that the kernel copies: a thread that comes back waits for its turn


def write(
    out: BinaryIO,
    data: Reader,
    layout: Layout,
    copied: Copied,
    meanwhile: Sequence[Callable[[], None]] = (),
) -> None:
    """Write the result to an empty file.

    The steps of `meanwhile` run, and may raise, while the kernel copies bytes.
    """
    fd = out.fileno()
    size = len(data) - layout.holes.size()
    os.ftruncate(fd, size)
    copier = _Copier(fd, data, layout, copied)
    if size < LARGE:
        _one_by_one(copier, meanwhile)
    else:
        _at_once(copier, meanwhile)
    for at, content in chain(layout.late, layout.patches):
        put(fd, memoryview(content), at)


class _Copier:
    """Copies the parts of a result, the largest first.

    During a large copy the thread leaves Python's lock to others for longest.
    """

    def __init__(self, fd: int, data: Reader, layout: Layout, copied: Copied) -> None:
        self._fd, self._source, self._start, self._copied = fd, data.fileno(), data.at, copied
        found = ((one.piece, layout.holes.place(one.offset)) for one in layout.parts(len(data)))
        parts = [(piece, at) for piece, at in found if piece is not None]
        self._parts = sorted(parts, key=lambda part: -part[0].size)
        self._is_stopped = False
        self._error: Exception | None = None

    def run(self) -> None:
        """Copy all parts."""
        for piece, at in self._parts:
            if self._is_stopped:
                return
            self._put(piece, at)

    def run_in_thread(self) -> None:
        """Copy all parts; `finish` raises what goes wrong."""
        try:
            self.run()
        except Exception as error:  # noqa: BLE001 - finish() raises it
            self._error = error

    def stop(self) -> None:
        """Copy no further part: the result is of no use."""
        self._is_stopped = True

    def finish(self) -> None:
        """Raise what has gone wrong in a thread."""
        if self._error is not None:
            raise self._error

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


def _at_once(copier: _Copier, meanwhile: Sequence[Callable[[], None]]) -> None:
    """Copy in a thread while the steps are done."""
    from threading import Thread

    thread = Thread(target=copier.run_in_thread)
    try:
        thread.start()
    except RuntimeError:  # this user may have no more of them
        _one_by_one(copier, meanwhile)
        return
    try:
        for step in meanwhile:
            step()
    except BaseException:
        copier.stop()
        raise
    finally:
        thread.join()
    copier.finish()
