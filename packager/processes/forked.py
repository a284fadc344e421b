# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compute in a child process beside this one: threads of Python take turns."""

from __future__ import annotations

import marshal
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

T = TypeVar("T")

PIECE = 1 << 16
STOP = 9  # SIGKILL


@contextmanager
def forked(function: Callable[[], T]) -> Iterator[Callable[[], T]]:
    """Call a function in a child process; yield a function that waits for its result.

    The result is of plain types (numbers, strings, tuples, lists, dicts, None). If no child can be
    started, or the child ends without a result, the function is called in this process, which
    raises its errors. A child that nobody waits for is killed at the end of the block.
    """
    child = _Child(function) if _can_fork() else None
    try:
        yield child.result if child else function
    finally:
        if child:
            child.close()


def _can_fork() -> bool:
    """Return whether a child would have a processor, and no other thread holds a lock here."""
    if not hasattr(os, "sched_getaffinity"):  # Linux alone has it
        return False
    return len(os.sched_getaffinity(0)) > 1 and len(sys._current_frames()) == 1  # noqa: SLF001 - documented


class _Child(Generic[T]):
    """A child process that computes the result of a function."""

    def __init__(self, function: Callable[[], T]) -> None:
        self._function = function
        self._pid = 0
        try:
            self._from, to = os.pipe()
        except OSError:  # this user may have no more open files
            self._from = -1
            return
        try:
            self._pid = os.fork()
            if not self._pid:
                _compute(function, to)
        except OSError:  # this user may have no more processes
            pass
        finally:
            os.close(to)

    def result(self) -> T:
        """Return the result, as soon as it is there."""
        pieces: list[bytes] = []
        while self._pid and (piece := os.read(self._from, PIECE)):
            pieces.append(piece)
        try:
            found: tuple[T] = marshal.loads(b"".join(pieces))  # noqa: S302 - from this process
        except (EOFError, ValueError, TypeError):
            return self._function()
        return found[0]

    def close(self) -> None:
        """End the child process."""
        if self._from >= 0:
            os.close(self._from)
        if self._pid:
            os.kill(self._pid, STOP)
            os.waitpid(self._pid, 0)


def _compute(function: Callable[[], object], to: int) -> None:
    """Write the result to a pipe in the child process, and end it without any clean-up.

    Without a result, the reader computes it again.
    """
    try:
        content = memoryview(marshal.dumps((function(),)))  # type: ignore[arg-type]
        while content:
            content = content[os.write(to, content) :]
    finally:
        os._exit(0)
