# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Show the progress of reading a file: a bar on a terminal, if it takes longer than a moment."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from omptool.console import shown

MOMENT = 0.5  # seconds
STEPS = 200
ERASE = "\r\x1b[K\x1b[?25h"  # the line, and the cursor is shown again


class Progress:
    """Progress of one file. It is shown only if stderr is a terminal, and erased at the end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._is_shown = sys.stderr.isatty() and path.is_file()
        self._begin = time.monotonic()
        self._update: Callable[[int], None] | None = None
        self._at = 0

    def seen(self, at: int) -> None:
        """Advance the bar to an offset in the file; an earlier offset restarts the bar."""
        if not self._is_shown:
            return
        if at < self._at:
            self.pause()
        if self._update is None and time.monotonic() - self._begin > MOMENT:
            self._update = self._begun()
        if self._update is not None:
            self._update(at - self._at)
            self._at = at

    def _begun(self) -> Callable[[int], None]:
        import click

        size = self._path.stat().st_size
        bar = click.progressbar(
            length=size,
            label=shown(self._path.name),
            file=sys.stderr,
            update_min_steps=size // STEPS,
        )
        bar.render_progress()
        return bar.update

    def pause(self) -> None:
        """Take the bar away: something is printed."""
        if self._update is not None:
            sys.stderr.write(ERASE)
            sys.stderr.flush()
        self._update, self._at, self._begin = None, 0, time.monotonic()


class Current:
    """Shows the current file in one line that is erased later, if stderr is a terminal.

    A command that works on one file for a long time shows only its name.
    """

    def __init__(self) -> None:
        self._is_shown = sys.stderr.isatty()
        self._next = time.monotonic() + MOMENT

    def seen(self, path: Path) -> None:
        """Show a file, if the last one has been there for a while."""
        if self._is_shown and time.monotonic() > self._next:
            import shutil

            width = shutil.get_terminal_size().columns - 1
            sys.stderr.write(f"{ERASE}{shown(path)[-width:]}")
            sys.stderr.flush()
            self._next = time.monotonic() + MOMENT / 5

    def end(self) -> None:
        """Take the line away."""
        if self._is_shown:
            sys.stderr.write(ERASE)
            sys.stderr.flush()


@contextmanager
def current() -> Iterator[Current]:
    """Yield an object that shows the current file."""
    line = Current()
    try:
        yield line
    finally:
        line.end()


@contextmanager
def progress(path: Path) -> Iterator[Progress]:
    """Show a bar while a file is read in the block."""
    bar = Progress(path)
    try:
        yield bar
    finally:
        bar.pause()
