# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The common part of `link` and `cc`: folders, messages on the way, and exit codes."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from click.exceptions import Exit

from omptool.console import echo
from omptool.errors import fail_with
from packager.errors import PackagerError, UsageError
from packager.files.portable import exists

if TYPE_CHECKING:
    from packager.linking.image_cache import ImageCache
    from packager.linking.tools import Tools

LINK_CACHE = "OMPTOOL_LINK_CACHE"
MOST = 1024  # MiB of the cache without the variable


def end_as(run: Callable[[], int]) -> NoReturn:
    """End with the exit code of `run`, or with its error."""
    try:
        code = run()
    except PackagerError as error:
        for line in getattr(error, "said", "").splitlines():
            echo(line, err=True)
        fail_with(error)
    raise Exit(code)


@contextmanager
def tools(kept: Path | None, *, is_shown: bool, is_dry: bool) -> Iterator[Tools]:
    """Yield the Tools that run commands in the folder `kept`, or in a temporary one.

    A dry run does not change `kept`: the commands that it prints only name the folder. If other
    users may write to `kept`, they could replace the inputs of a command, so the files are moved
    there after all commands have ended.
    """
    from packager.files.replacing import is_private
    from packager.files.temporary import temporary_folder
    from packager.linking.tools import Tools

    show = _show if is_shown else _hide
    made = _made(kept) if kept is not None and not is_dry else None
    if made is not None and is_private(made):
        with _alone_in(made):
            yield Tools(made, show, is_dry)
        return
    with temporary_folder() as folder:
        named = str(kept.absolute() if kept else folder)

        def show_named(line: str) -> None:
            show(line.replace(str(folder), named))

        try:
            in_memory = kept is None and not is_shown and not is_dry
            yield Tools(folder, show_named, is_dry, in_memory)
        finally:
            if made is not None:
                _copy_files(folder, made)


def _copy_files(source: Path, target: Path) -> None:
    import shutil  # slow to load

    from packager.files.replacing import replacing

    for path in source.iterdir():
        if path.is_file():
            with replacing(target / path.name) as temporary:
                shutil.copyfile(path, temporary)


def expect_files(paths: Iterable[Path]) -> None:
    """Check that the files that options name exist. Raises UsageError for the first missing one.

    The tools that read these files may ignore a missing one.
    """
    for path in paths:
        if not exists(path):
            raise UsageError("No such file or directory", path)


def cache_of(*, is_asked: bool) -> ImageCache | None:
    """Return the cache of joined images that an option or OMPTOOL_LINK_CACHE asks for.

    Raises UsageError for a value that is no number of MiB.
    """
    text = os.environ.get(LINK_CACHE, "")
    if text and not (text.isascii() and text.isdigit()):
        raise UsageError(f"{LINK_CACHE} is {text!r}: expected a number of MiB, 0 for no cache")
    most = int(text) if text else MOST * is_asked
    if not most:
        return None
    from packager.linking.image_cache import image_cache

    found = image_cache(most)
    if found is None:
        warn("the cache is not used: its folder cannot be written, or others may write to it")
    return found


def warn(line: str) -> None:
    """Print a warning on stderr."""
    echo(f"Warning: {line}", err=True)


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot be made: {error.strerror}", folder) from error
    return folder.absolute()


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Lock `folder` for the block.

    Parallel processes of a build may keep intermediate files of the same names in one folder.
    """
    opened = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # not every file system has locks
            fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)


def _show(line: str) -> None:
    echo(line, err=True)


def _hide(_line: str) -> None:
    """Ignore the line of a command, which only -v prints."""
