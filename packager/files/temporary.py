# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Temporary files: on disk, where space may be scarce, or in memory."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from packager.errors import UsageError


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Make a temporary folder, removed when the block ends. Raises UsageError if that fails."""
    try:
        folder = tempfile.TemporaryDirectory(prefix="omptool-")
    except OSError as error:
        raise UsageError(f"cannot make a temporary folder: {error.strerror}") from error
    with folder as name:
        yield Path(name)


def store(path: Path, pieces: Iterable[bytes]) -> None:
    """Write `pieces` to `path`, in a temporary folder. Raises UsageError when it has no room."""
    try:
        with path.open("wb") as file:
            file.writelines(pieces)
    except OSError as error:
        folder = tempfile.gettempdir()
        raise UsageError(f"cannot write to {folder} (see TMPDIR): {error.strerror}") from error


def unused(folder: Path, name: str) -> Path:
    """Return a path in `folder` that no file has."""
    # iterdir() would make a Path for each file, and a link has thousands.
    return folder / f"{len(os.listdir(folder))}-{name}"  # noqa: PTH208


class MemoryFile:
    """A file in memory, for processes that this one starts: it needs no folder to write to."""

    def __init__(self, name: str) -> None:
        self._file = os.fdopen(os.memfd_create(name), "w+b")
        self.path = Path(f"/proc/{os.getpid()}/fd/{self._file.fileno()}")

    def add(self, pieces: Iterable[bytes], alignment: int) -> int:
        """Append bytes, and return the offset of the first. Raises UsageError without memory."""
        try:
            start = self._file.seek(0, os.SEEK_END)
            start = self._file.seek(start + -start % alignment)
            self._file.writelines(pieces)
            self._file.flush()
        except OSError as error:
            raise UsageError(f"cannot store inflated bytes: {error.strerror}") from error
        return start

    def __enter__(self) -> MemoryFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
