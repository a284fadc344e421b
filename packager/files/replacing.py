# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Output that appears whole or not at all: written beside its place, then renamed."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from packager.errors import NO_ROOM, UsageError
from packager.files.portable import NEW

MODE = 0o777
OWNERS = 0o600  # what the owner of a file needs to write it


@contextmanager
def replacing(path: Path, mode: int | None = None) -> Iterator[Path]:
    """Yield an empty file beside `path`; on success it takes the place of `path`, else it goes.

    It gets the permissions `mode`; else an existing file keeps its own, also where they let nobody
    write. The file keeps its owner if this process may set it. A symbolic link keeps its target.
    Raises UsageError when `path` is something that must not be replaced, such as a directory or
    device, and when there is no room for it.
    """
    target = _target(path)
    try:
        temporary = _beside(target)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
    try:
        given = _mode_for(target) if mode is None else mode
        temporary.chmod(given & MODE | OWNERS)
        yield temporary
        _keep_owner(target, temporary)
        temporary.chmod(given)
        temporary.replace(target)
    except BaseException as error:
        with suppress(OSError):
            temporary.chmod(OWNERS)  # Windows removes no file that is read-only
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            raise UsageError(f"cannot write {path}: {error.strerror}") from error
        raise


def check_place(path: Path) -> None:
    """Raise UsageError where `replacing` would: the file is not made yet, and stays as it is."""
    try:
        _beside(_target(path)).unlink()
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


def _beside(target: Path) -> Path:
    """Make an empty file beside `target`. The module tempfile is slow to load."""
    while True:
        temporary = target.parent / f".{target.name[:100]}.{os.urandom(6).hex()}"
        with suppress(FileExistsError):
            os.close(os.open(temporary, NEW, OWNERS))
            return temporary


def _target(path: Path) -> Path:
    """Return the file that is written, behind all symbolic links."""
    try:
        # Not by Path.exists or Path.resolve: each release of Python keeps other errors to itself.
        mode = path.stat().st_mode
    except FileNotFoundError:
        return path.resolve()
    except OSError as error:
        loops = error.errno == errno.ELOOP
        what = "it is a symbolic link to itself" if loops else error.strerror
        raise UsageError(f"cannot write {path}: {what}") from error
    if not stat.S_ISREG(mode):  # a pipe of /dev/stdout has no place in a folder
        kind = "a directory" if stat.S_ISDIR(mode) else "not a regular file"
        raise UsageError(f"cannot write {path}: it is {kind}")
    return path.resolve()


def _keep_owner(target: Path, temporary: Path) -> None:
    if not hasattr(os, "chown"):  # Windows
        return
    with suppress(OSError):
        before = target.stat()
        os.chown(temporary, before.st_uid, before.st_gid)


def _mode_for(target: Path) -> int:
    if target.exists():
        return target.stat().st_mode & 0o7777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
