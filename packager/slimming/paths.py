# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Slim a file, a package or a folder: each result is written beside its place, then renamed."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from packager.errors import PackagerError
from packager.files.copying import copy
from packager.files.replacing import replacing
from packager.records import NamedTuple
from packager.slimming.file import slim_file
from packager.slimming.packages.debian import slim_debian
from packager.slimming.packages.installed import Found, Records, files
from packager.slimming.packages.wheel import slim_wheel
from packager.slimming.request import Request
from packager.slimming.slimmed import Slimmed, is_worth_writing
from packager.writers.streams import ignore

Rewrite = Callable[[Path, Path, Path], "list[Slimmed]"]
PACKAGES = {".whl": slim_wheel, ".deb": slim_debian}


class Result(NamedTuple):
    """Result of a file or package, and of the files in it that have device code."""

    path: Path
    before: int
    after: int  # the same where nothing is written
    files: tuple[Slimmed, ...]
    reason: str = ""  # why it was left alone

    @property
    def lacking(self) -> tuple[str, ...]:
        """Return a message for each kept GPU that would be left without code."""
        return tuple(f"{one.path}: {what}" for one in self.files for what in one.lacking)


class _UnchangedError(Exception):
    """Leave `replacing` without a new file."""


def slim(path: Path, out: Path, request: Request) -> Result:
    """Slim a file or package into `out`, which may be `path`.

    Another file `out` is written also where nothing is removed, as a copy. Nothing is written where
    the result has messages in `lacking`. Raises FormatError, LimitError or UsageError where the
    file cannot be slimmed.
    """
    result = _slimmed(path, out, request)
    if result.after == result.before and out != path and not result.lacking and not request.is_dry:
        with (
            replacing(out, _mode(path)) as beside,
            path.open("rb") as source,
            beside.open("wb") as file,
        ):
            copy(source.fileno(), 0, result.before, file.fileno(), 0, ignore)
    return result


def slim_folder(folder: Path, request: Request, seen: Callable[[Path], None]) -> Iterator[Result]:
    """Slim every file of a folder in its place; yield those with device code.

    `seen` is called before each. A file that cannot be slimmed is yielded with the reason. RECORDs
    of installed distributions are written at the end, also where an error or a signal ends it.
    """
    records = Records(folder)
    try:
        for found in files(folder):
            seen(found.path)
            result = _in_folder(found, request)
            if result is None:
                continue
            if result.after != result.before and not request.is_dry:
                records.change(found.path)
            yield result
    finally:
        records.write()


def _in_folder(found: Found, request: Request) -> Result | None:
    size = found.path.lstat().st_size
    wanted = request._replace(is_dry=True) if found.reason else request
    try:
        result = _slimmed(found.path, found.path, wanted)
    except PackagerError as error:
        return Result(found.path, size, size, (), str(error))
    if not result.files:
        return None
    return result._replace(after=size, reason=found.reason) if found.reason else result


def _slimmed(path: Path, out: Path, request: Request) -> Result:
    before = path.stat().st_size
    slimmer = partial(slim_file, request=request)
    if rewrite := PACKAGES.get(path.suffix):
        return _package(path, out, request, partial(rewrite, slim=slimmer))
    found = slimmer(path, None if request.is_dry else out, str(path))
    if found is None:
        return Result(path, before, before, ())
    return Result(path, before, found.after if is_worth_writing([found]) else before, (found,))


def _package(path: Path, out: Path, request: Request, rewrite: Rewrite) -> Result:
    """Rewrite a package; of a dry run into a folder for temporary files, as its size is not known
    before.
    """
    before = after = path.stat().st_size
    done: list[Slimmed] = []
    place = None if request.is_dry else out.parent
    with TemporaryDirectory(prefix=".omptool-", dir=place) as name:
        target = Path(name) / "result" if request.is_dry else out
        with suppress(_UnchangedError), replacing(target, _mode(path)) as beside:
            done = rewrite(path, beside, Path(name))
            if not is_worth_writing(done):
                raise _UnchangedError
            after = beside.stat().st_size
    return Result(path, before, after, tuple(done))


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)
