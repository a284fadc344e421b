# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Temporary files: on disk, where space may be scarce, or in memory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from packager.errors import UsageError

PREFIX = "omptool-"
# Places of temporary files, as the module tempfile has them; it is slow to load.
VARIABLES, PLACES = ("TMPDIR", "TEMP", "TMP"), ("/tmp", "/var/tmp", "/usr/tmp")
OWNERS = 0o700


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Make a temporary folder, removed when the block ends. Raises UsageError if that fails."""
    folder = _made()
    try:
        yield folder
    finally:
        _remove(folder)


def _made() -> Path:
    places = (*(os.environ.get(name, "") for name in VARIABLES), *PLACES)
    for place in filter(None, places) if os.name == "posix" else ():
        folder = Path(place).absolute() / f"{PREFIX}{os.urandom(6).hex()}"
        with suppress(OSError):
            folder.mkdir(OWNERS)
            return folder
    from tempfile import mkdtemp

    try:
        return Path(mkdtemp(prefix=PREFIX))
    except OSError as error:
        raise UsageError(f"cannot make a temporary folder: {error.strerror}") from error


def _remove(folder: Path) -> None:
    """Remove a folder and its files; the module shutil is slow to load."""
    with suppress(FileNotFoundError):
        try:
            for name in os.listdir(folder):  # noqa: PTH208 - a link has many files
                os.unlink(f"{folder}/{name}")  # noqa: PTH108
            folder.rmdir()
        except OSError:  # a folder in it, or a file that Windows has to unlock first
            from shutil import rmtree

            rmtree(folder)


def store(path: Path, pieces: Iterable[bytes]) -> None:
    """Write `pieces` to `path`, in a temporary folder. Raises UsageError when it has no room."""
    try:
        with path.open("wb") as file:
            file.writelines(pieces)
    except OSError as error:
        from tempfile import gettempdir

        folder = gettempdir()
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
