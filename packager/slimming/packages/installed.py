# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Folders: which files are slimmed, and RECORD of the distributions that have installed them."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from packager.errors import FormatError, PackagerError, UsageError
from packager.files.replacing import is_unfinished, replacing
from packager.records import NamedTuple
from packager.slimming.packages.members import LONGEST, may_have_code
from packager.slimming.packages.record import (
    METADATA,
    MOST,
    RECORD,
    Hashed,
    hashed,
    rewritten,
    rows,
)


class Found(NamedTuple):
    """A file of a folder that may have device code; `reason` says why it stays as it is."""

    path: Path
    reason: str = ""


def files(folder: Path) -> Iterator[Found]:
    """Yield the regular files that may have device code, sorted by path.

    Symbolic links are not followed. Raises UsageError where a folder cannot be read.
    """
    for path in _walk(folder):
        try:
            status = path.lstat()
            if not stat.S_ISREG(status.st_mode) or status.st_size < LONGEST:
                continue
            with path.open("rb") as file:
                beginning = file.read(LONGEST)
        except OSError as error:
            yield Found(path, f"cannot be read: {error.strerror}")
            continue
        if may_have_code(beginning):
            yield Found(path, reason_to_stay(path, status))


def _walk(folder: Path) -> Iterator[Path]:
    for place, names in _folders(folder):
        for name in sorted(names):
            yield place / name


def _folders(folder: Path) -> Iterator[tuple[Path, list[str]]]:
    """Yield each folder, sorted by name, and the names of its files.

    One that is gone by then has none. Folders may be deeper in each other than calls can be.
    """
    waiting = [folder]
    while waiting:
        place = waiting.pop()
        inside: list[Path] = []
        names: list[str] = []
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        inside.append(place / entry.name)
                    else:
                        names.append(entry.name)
        except FileNotFoundError as error:
            if place == folder:
                raise UsageError(f"cannot read {place}: {error.strerror}") from error
            continue
        except OSError as error:
            raise UsageError(f"cannot read {place}: {error.strerror}") from error
        yield place, names
        waiting += sorted(inside, reverse=True)


def reason_to_stay(path: Path, status: os.stat_result) -> str:
    """Return the reason why a file must not be replaced in place; "" if it may be."""
    if is_unfinished(path):
        return "is a part of a file that a command writes, or was killed at: remove it then"
    if status.st_nlink > 1:
        return f"has {status.st_nlink} names (hard links), and would be stored twice"
    try:
        os.close(os.open(path, os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0)))
    except OSError as error:
        if error.errno == getattr(errno, "ETXTBSY", None):
            return "is a program that runs"
    return ""


class Records:
    """The RECORDs in a folder and its parents, with the files that each one lists."""

    def __init__(self, path: Path) -> None:
        self._owners: dict[str, list[Path]] = {}
        self._changed: dict[Path, list[Path]] = {}
        self.left: list[Found] = []  # those that stay as they are
        folder = path.absolute()
        inside = (place for place, _ in _folders(folder)) if folder.is_dir() else ()
        for place in (*folder.parents, *inside):
            for record in place.glob(f"*{METADATA}/{RECORD}"):
                try:
                    self._read(place, record)
                except OSError as error:
                    self.left.append(Found(record, f"cannot be read: {error.strerror}"))
                except FormatError as error:
                    self.left.append(Found(record, str(error)))

    def _read(self, place: Path, record: Path) -> None:
        for name in _names(place, _content(record)):
            self._owners.setdefault(name, []).append(record)

    def change(self, path: Path) -> None:
        """Note that a file has other bytes, or may have them soon."""
        for record in self._owners.get(os.path.normpath(path.absolute()), ()):
            self._changed.setdefault(record, []).append(path.absolute())

    def discard(self, path: Path) -> None:
        """Note that the file of the last change has the bytes that it had."""
        for record in self._owners.get(os.path.normpath(path.absolute()), ()):
            self._changed[record].remove(path.absolute())
            if not self._changed[record]:
                del self._changed[record]

    def write(self) -> None:
        """Write each RECORD that has a changed file, beside and renamed.

        Raises the error of the first that cannot be written, when all others are.
        """
        errors: list[Exception] = []
        for record, paths in self._changed.items():
            try:
                _write(record, paths)
            except (OSError, PackagerError) as error:
                errors.append(error)
        self._changed.clear()
        if errors:
            raise errors[0]


def _write(record: Path, paths: Iterable[Path]) -> None:
    content = _content(record)
    names = _names(record.parents[1], content)
    changed: dict[str, Hashed] = {}
    for path in paths:
        found = hashed(path)
        changed |= dict.fromkeys(names.get(os.path.normpath(path), ()), found)
    with replacing(record) as beside:
        beside.write_bytes(rewritten(content, changed))


def _content(record: Path) -> bytes:
    """Return the bytes of a RECORD. Raises FormatError for what may be no distribution's own."""
    status = record.lstat()
    if record.parent.is_symlink() or not stat.S_ISREG(status.st_mode):
        raise FormatError("is no file of this folder, so hashes in it stay")
    if status.st_size > MOST:
        raise FormatError(f"has {status.st_size} bytes, and the limit is {MOST}")
    return record.read_bytes()


def _names(place: Path, content: bytes) -> dict[str, list[str]]:
    """Return the names that rows of a RECORD have for each path."""
    found: dict[str, list[str]] = {}
    for row, _ in rows(content):
        if row:
            found.setdefault(os.path.normpath(place / row[0]), []).append(row[0])
    return found
