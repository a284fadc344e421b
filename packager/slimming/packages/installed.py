# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Folders: which files are slimmed, and RECORD of the distributions that have installed them."""

from __future__ import annotations

import csv
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from packager.errors import UsageError
from packager.files.replacing import replacing
from packager.records import NamedTuple
from packager.slimming.packages.members import LONGEST, may_have_code
from packager.slimming.packages.record import METADATA, RECORD, hashed, rewritten


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
            yield Found(path, _reason(path, status))


def _walk(folder: Path) -> Iterator[Path]:
    for place, names in _folders(folder):
        for name in sorted(names):
            yield place / name


def _folders(folder: Path) -> Iterator[tuple[Path, list[str]]]:
    """Yield each folder, sorted by name, and the names of its files."""

    def refuse(error: OSError) -> None:
        raise UsageError(f"cannot read {error.filename}: {error.strerror}") from error

    for place, folders, names in os.walk(folder, onerror=refuse):
        folders.sort()
        yield Path(place), names


def _reason(path: Path, status: os.stat_result) -> str:
    if status.st_nlink > 1:
        return f"has {status.st_nlink} names (hard links), and would be stored twice"
    try:
        os.close(os.open(path, os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0)))
    except OSError as error:
        if error.errno == getattr(errno, "ETXTBSY", None):
            return "is a program that runs"
    return ""


class Records:
    """The RECORDs of a folder and of those that it is in: which of them has which file."""

    def __init__(self, folder: Path) -> None:
        self._paths: dict[str, Path] = {}
        self._changed: dict[Path, list[Path]] = {}
        inside = (place for place, _ in _folders(folder.absolute()))
        for place in (*folder.absolute().parents, *inside):
            for record in place.glob(f"*{METADATA}/{RECORD}"):
                self._read(place, record)

    def _read(self, place: Path, record: Path) -> None:
        try:
            rows = csv.reader(record.read_text("utf-8").splitlines())
            for row in rows:
                if row:
                    self._paths[os.path.normpath(place / row[0])] = record
        except (OSError, UnicodeDecodeError, csv.Error):
            return  # no table of a distribution's; nothing of it is changed

    def change(self, path: Path) -> None:
        """Note that a file has other bytes now."""
        record = self._paths.get(os.path.normpath(path.absolute()))
        if record is not None:
            self._changed.setdefault(record, []).append(path.absolute())

    def write(self) -> None:
        """Write each RECORD that has a changed file, beside and renamed."""
        for record, paths in self._changed.items():
            content = record.read_bytes()
            place = record.parents[1]
            rows = {os.path.normpath(place / row[0]): row[0] for row in _rows(content)}
            changed = {rows[os.path.normpath(path)]: hashed(path) for path in paths}
            with replacing(record) as beside:
                beside.write_bytes(rewritten(content, changed))
        self._changed.clear()


def _rows(content: bytes) -> Iterator[list[str]]:
    return (row for row in csv.reader(content.decode().splitlines()) if row)
