# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool dump` of many files: child processes read parts of the list, and all is in order."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from packager.files.portable import cores
from packager.processes.forked import forked

MANY = 200  # files, for which child processes are worth their start
MOST = 8  # processes, this one included

# Results of showing files: has one failed to be read, and was anything printed on stdout.
Shown = tuple[bool, bool]
Show = Callable[[Sequence[Path]], Shown]
Line = tuple[bool, str]  # whether it is for stderr, and the text


def show_all(paths: Sequence[Path], show: Show) -> bool:
    """Show the files, with an empty line between; return whether one could not be read.

    Of many files, child processes show parts, whose lines are printed in order. A terminal shows
    the progress of each file, so there this process shows all.
    """
    parts = min(MOST, cores(), len(paths) * 2 // MANY)
    if parts < 2 or not _can_record():
        return show(paths)[0]
    size = -(-len(paths) // parts)
    with ExitStack() as children:
        others = [
            children.enter_context(forked(partial(_recorded, show, paths[at : at + size])))
            for at in range(size, len(paths), size)
        ]
        has_failed, has_printed = show(paths[:size])
        for wait in others:
            failed, lines = wait()
            has_failed |= failed
            has_printed |= _print(lines, has_printed=has_printed)
    return has_failed


def _can_record() -> bool:
    """Return whether click writes text to the streams, and shows no progress."""
    encodings = {(stream.encoding or "").lower() for stream in (sys.stdout, sys.stderr)}
    return encodings == {"utf-8"} and not sys.stderr.isatty()


def _print(lines: Sequence[Line], *, has_printed: bool) -> bool:
    """Print the lines of a part; return whether any is for stdout."""
    is_first = True
    for is_error, text in lines:
        if not is_error and is_first:
            is_first = False
            if has_printed:
                sys.stdout.write("\n")
        (sys.stderr if is_error else sys.stdout).write(text)
    return not is_first


class _Recorder:
    """Replaces a standard stream: keeps the text in a list that both streams share."""

    def __init__(self, stream: object, lines: list[Line], *, is_error: bool) -> None:
        self._stream, self._lines, self._is_error = stream, lines, is_error

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Append the text to the list. Refuses bytes, by which click knows binary streams."""
        if not isinstance(text, str):
            raise TypeError("write() argument must be str")
        self._lines.append((self._is_error, text))
        return len(text)

    def flush(self) -> None:
        """Do nothing: the list is printed later."""


def _recorded(show: Show, paths: Sequence[Path]) -> tuple[bool, list[Line]]:
    """Return whether a file could not be read, and the printed lines."""
    lines: list[Line] = []
    streams = sys.stdout, sys.stderr
    sys.stdout = _Recorder(streams[0], lines, is_error=False)
    sys.stderr = _Recorder(streams[1], lines, is_error=True)
    try:
        return show(paths)[0], lines
    finally:
        sys.stdout, sys.stderr = streams
