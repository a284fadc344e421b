# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that several parts of a command read: each is opened once, until the command ends."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from threading import Lock

from packager.files.reader import Reader, open_reader

FEW = 512  # that any process may have open


class OpenFiles:
    """Opens each file when it is first asked for, and closes all at the end of the block."""

    def __init__(self) -> None:
        self._opened = ExitStack()
        self._data: dict[Path, Reader] = {}
        self._lock = Lock()  # sums are taken by another thread

    def data(self, path: Path) -> Reader:
        """Return the bytes of a file. Raises FormatError as `open_reader` does."""
        with self._lock:
            if path not in self._data:
                if len(self._data) == FEW:
                    _allow_more()
                self._data[path] = self._opened.enter_context(open_reader(path))
            return self._data[path].anew()

    def __enter__(self) -> OpenFiles:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()


def _allow_more() -> None:
    """Let this process have as many open files as it may: a build can name more than 1000."""
    from resource import RLIMIT_NOFILE, getrlimit, setrlimit

    _, most = getrlimit(RLIMIT_NOFILE)
    setrlimit(RLIMIT_NOFILE, (most, most))
