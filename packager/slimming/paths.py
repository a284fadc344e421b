# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Slim a file, a package or a folder: each result is written beside its place, then renamed."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from packager.errors import PackagerError, UsageError
from packager.files.copying import copy
from packager.files.reader import open_reader
from packager.files.replacing import replacing
from packager.formats import packages
from packager.records import NamedTuple
from packager.slimming.file import slim_file
from packager.slimming.packages.rewriting import rewritten
from packager.slimming.request import Request
from packager.slimming.slimmed import SignedError, Slimmed, is_worth_writing
from packager.writers.streams import ignore

if TYPE_CHECKING:
    from packager.slimming.packages.installed import Found

CONDA = ".conda"  # a zip file of archives, unlike the old form


class Result(NamedTuple):
    """Result of a file or package, and of the files in it that have device code."""

    path: Path
    before: int
    after: int  # equal to `before` if nothing is written
    files: tuple[Slimmed, ...]
    reason: str = ""  # why it was left alone

    @property
    def lacking(self) -> tuple[str, ...]:
        """Return a message for each kept GPU that would be left without code."""
        return tuple(f"{one.path}: {what}" for one in self.files for what in one.lacking)


def slim(path: Path, out: Path, request: Request) -> Result:
    """Slim a file or package into `out`, which may be `path`.

    If `out` is another file, it is written even if nothing is removed, as a copy. Nothing is
    written if the result has messages in `lacking`. Raises FormatError, LimitError or UsageError if
    the file cannot be slimmed.
    """
    result = _slimmed(path, out, request)
    is_same = not is_worth_writing(result.files)
    if is_same and out != path and not result.lacking and not request.is_dry:
        with (
            replacing(out, stat.S_IMODE(path.stat().st_mode)) as beside,
            path.open("rb") as source,
            beside.open("wb") as file,
        ):
            copy(source.fileno(), 0, result.before, file.fileno(), 0, ignore)
    return result


def slim_in_place(path: Path, request: Request) -> Iterator[Result]:
    """Slim a file or package in place, as `slim_folder` does; yield its result.

    RECORD of its installed distribution is written, too. Raises the errors of `slim`.
    """
    from packager.slimming.packages.installed import Records, reason_to_stay

    target = Path(os.path.realpath(path))
    status = target.stat()
    reason = reason_to_stay(target, status) if stat.S_ISREG(status.st_mode) else ""
    records = Records(target)
    for record in records.left:
        yield Result(record.path, 0, 0, (), record.reason)
    records.change(target)
    try:
        result = _slimmed(path, path, request._replace(is_dry=True) if reason else request)
        if reason and result.files:
            result = result._replace(after=result.before, reason=reason)
        if not _is_written(result, request):
            records.discard(target)
    except PackagerError:
        records.discard(target)
        raise
    finally:
        records.write()
    yield result


def _is_written(result: Result | None, request: Request) -> bool:
    if result is None or result.reason or request.is_dry:
        return False
    return is_worth_writing(result.files)


def slim_folder(folder: Path, request: Request, seen: Callable[[Path], None]) -> Iterator[Result]:
    """Slim every file of a folder in its place; yield those with device code.

    `seen` is called before each file. A file that cannot be slimmed is yielded with the reason.
    RECORDs of installed distributions are written at the end, even after an error or a signal.
    """
    from packager.slimming.packages.installed import Records, files

    records = Records(folder)
    for record in records.left:
        yield Result(record.path, 0, 0, (), record.reason)
    try:
        for found in files(folder):
            seen(found.path)
            records.change(found.path)  # before the file, as a signal may come behind that
            result = _in_folder(found, request)
            if not _is_written(result, request):
                records.discard(found.path)
            if result is not None:
                yield result
    finally:
        records.write()


def _in_folder(found: Found, request: Request) -> Result | None:
    size = 0  # used if the file has disappeared
    wanted = request._replace(is_dry=True) if found.reason else request
    try:
        size = found.path.lstat().st_size
        result = _slimmed(found.path, found.path, wanted)
    except PackagerError as error:
        return Result(found.path, size, size, (), found.reason or str(error))
    except OSError as error:
        return Result(found.path, size, size, (), error.strerror or str(error))
    if found.reason and result.files:
        return result._replace(after=size, reason=found.reason)
    return result if result.files or result.reason else None


def _slimmed(path: Path, out: Path, request: Request) -> Result:
    before = path.stat().st_size
    target = None if request.is_dry else out
    slimmer = partial(slim_file, request=request)
    if rewrite := _of_package(path):
        try:
            done, after = rewritten(path, target, partial(rewrite, slim=slimmer))
        except SignedError as error:
            return Result(path, before, before, (), str(error))
        return Result(path, before, after, tuple(done))
    found = slimmer(path, target, str(path))
    if found is None:
        return Result(path, before, before, ())
    return Result(path, before, found.after if is_worth_writing([found]) else before, (found,))


def _of_package(path: Path) -> Callable[..., list[Slimmed]] | None:
    with open_reader(path) as data:
        if packages.is_debian(data):
            from packager.slimming.packages.debian import slim_debian  # slow to load

            return slim_debian
        if packages.is_zip(data) and path.suffix != CONDA:
            from packager.slimming.packages.wheel import slim_wheel

            return slim_wheel
        if packages.probe(data):
            raise UsageError("is a package of conda's: slim the environment that has it")
    return None
