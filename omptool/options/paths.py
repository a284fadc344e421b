# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""File names on the command line."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from omptool.errors import fail
from packager.errors import UsageError
from packager.files.reader import STANDARD_INPUT

PROCESS, RANK = "%p", "%r"  # replaced in an output's name by the process and its MPI rank
# Variables of an MPI rank; the runtime's list is in runtime/observe/trace/rank.h.
RANKS = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")
GIVEN = "omptool.options.paths"  # a key of click's: names as they were given, by path


class FileName(click.Path):
    """A path that can name a file: "" and "folder/" cannot, and pathlib would forgive both."""

    def __init__(self, *, or_stream: bool = False) -> None:
        super().__init__(path_type=Path)
        self._or_stream = or_stream

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Convert an argument to a path.

        "-" is an error where bytes are read twice or an output is written.
        """
        name = os.fsdecode(value)
        if not name or name.endswith(("/", os.sep)):
            self.fail(f"{name!r} is not the name of a file", param, ctx)
        if name == str(STANDARD_INPUT) and not self._or_stream:
            what = "'-' is not supported here: use a file; write ./- for a file of that name"
            self.fail(what, param, ctx)
        path = Path(name)
        if ctx:
            ctx.meta.setdefault(GIVEN, {})[path] = name
        # Pathlib would shorten "./-" to "-".
        return path.absolute() if path == STANDARD_INPUT and name != str(path) else path


def as_given(path: Path) -> str:
    """Return a path as the user spelled it: make distinguishes "out//a.o" from "out/a.o"."""
    context = click.get_current_context(silent=True)
    given: dict[Path, str] = context.meta.get(GIVEN, {}) if context else {}
    return given.get(path, str(path))


class FolderName(click.Path):
    """A path of a folder; "" is an error, because pathlib would make it the current folder."""

    def __init__(self, *, or_file: bool = False) -> None:
        super().__init__(path_type=Path)
        self._or_file = or_file

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Convert an argument to a path."""
        name = os.fsdecode(value)
        if not name:
            self.fail("'' is not the name of a folder", param, ctx)
        if self._or_file and name == str(STANDARD_INPUT):
            self.fail("'-' is not supported here: use a file or folder", param, ctx)
        return Path(name)


FILE = FileName()
# An input that is read once: a file, or "-" for standard input.
INPUT = FileName(or_stream=True)
FOLDER = FolderName()
FILE_OR_FOLDER = FolderName(or_file=True)


def check_distinct(outputs: list[Path], inputs: list[Path]) -> None:
    """Raise UsageError when an output would replace an input or another output."""
    seen: dict[Path, Path] = {path.absolute(): path for path in inputs}
    identities = {_identity(path) for path in inputs} - {None}
    for path in outputs:
        if path.absolute() in seen or _identity(path) in identities:
            raise UsageError(f"{path} would overwrite another file of this command")
        seen[path.absolute()] = path
        if _identity(path):
            identities.add(_identity(path))


def of_process(path: Path | None) -> Path | None:
    """Return the file's path with the number of this process for %p, and its rank for %r."""
    if not path:
        return None
    return Path(as_given(path).replace(PROCESS, str(os.getpid())).replace(RANK, rank() or "0"))


def rank() -> str:
    """Return the number of this process in its MPI job, or "" outside a job."""
    return next((os.environ[one] for one in RANKS if os.environ.get(one, "").isdecimal()), "")


def check_output(option: str, path: Path, code: int) -> None:
    """End with `code` unless a file can be written there: a program may run for hours."""
    from packager.files.replacing import check_place

    folder = path.absolute().parent
    if not folder.is_dir():
        fail(f"{option} {path}: there is no folder {folder}", code)
    try:
        check_place(path)
    except UsageError as error:
        fail(f"{option}: {error}", code)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
