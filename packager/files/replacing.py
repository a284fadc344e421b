# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write output files atomically: to a temporary file in the same folder, which is then renamed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from packager.errors import NO_ROOM, UsageError
from packager.files.portable import NEW
from packager.patterns import pattern

MODE = 0o777
OWNERS = 0o600  # rights that an owner needs to write a file
OTHERS_MAY_WRITE = 0o022
ROOT = 0
UNFINISHED = pattern(r"\.(.{1,100})\.[0-9a-f]{12}")  # names by `_beside`
MOST_LINKS = 40  # most links in a chain, Linux's limit


@contextmanager
def replacing(path: Path, mode: int | None = None) -> Iterator[Path]:
    """Yield an empty file beside `path`; replace `path` on success, else remove the file.

    The file gets the permissions `mode`; without it, an existing file keeps its permissions, even
    if they forbid writing. The file keeps its owner if this process may set it. A symlink keeps its
    target, but is replaced in a folder that other users may write to, as they may choose the
    target. Raises UsageError if `path` must not be replaced, such as a directory or device, and if
    there is no room.
    """
    target = _target(path)
    try:
        named, fd = _beside(target)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
    with _pinned(named, fd) as temporary:
        try:
            before = _status(target)
            given = _mode_for(before) if mode is None else mode
            temporary.chmod(given & MODE | OWNERS)
            yield temporary
            _keep_owner(before, temporary)
            temporary.chmod(given)
            named.replace(target)
        except BaseException as error:
            with suppress(OSError):
                temporary.chmod(OWNERS)  # Windows removes no file that is read-only
            named.unlink(missing_ok=True)
            if isinstance(error, OSError) and error.errno in NO_ROOM:
                raise UsageError(f"cannot write {path}: {error.strerror}") from error
            raise


def check_place(path: Path) -> None:
    """Raise UsageError if `replacing` would; the file is not touched."""
    try:
        named, fd = _beside(_target(path))
        os.close(fd)
        named.unlink()
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


def is_unfinished(path: Path) -> bool:
    """Return whether the file is one that `replacing` makes, with an uncut name."""
    found = UNFINISHED.fullmatch(path.name)
    return found is not None and (path.parent / found[1]).exists()


def is_private(folder: Path) -> bool:
    """Return whether only this user and root can create files in `folder`.

    On Windows, which does not show the owner, every folder counts as private. Raises OSError if the
    folder does not exist.
    """
    if not hasattr(os, "geteuid"):
        return True
    status = folder.stat()
    return status.st_uid in (os.geteuid(), ROOT) and not status.st_mode & OTHERS_MAY_WRITE


def _beside(target: Path) -> tuple[Path, int]:
    """Make an empty file beside `target`, and open it. The module tempfile is slow to load."""
    while True:
        temporary = target.parent / f".{target.name[:100]}.{os.urandom(6).hex()}"
        with suppress(FileExistsError):
            return temporary, os.open(temporary, NEW, OWNERS)


@contextmanager
def _pinned(named: Path, fd: int) -> Iterator[Path]:
    """Yield a path to the open file that other users cannot redirect; close the file.

    Users who may write to the folder could replace the name by a symlink. Systems without /proc
    have only the name; Windows renames no open file.
    """
    pinned = Path(f"/proc/{os.getpid()}/fd/{fd}")
    if not pinned.exists():
        os.close(fd)
        yield named
        return
    try:
        yield pinned
    finally:
        os.close(fd)


def _target(path: Path) -> Path:
    """Return the path to write, behind the symbolic links that lie in private folders."""
    target = _behind_private_links(path)
    if _link(target) is None:
        _check_kind(path)
    return target


def _behind_private_links(path: Path) -> Path:
    target = path
    for _ in range(MOST_LINKS):
        folder = Path(os.path.realpath(target.parent))  # Path.resolve raises in some releases
        target = folder / target.name
        link = _link(target)
        if link is None or not is_private(folder):
            return target
        target = folder / link
    raise UsageError(f"cannot write {path}: it is a symbolic link to itself")


def _link(path: Path) -> Path | None:
    """Return the target of a symlink; None if `path` is none."""
    try:
        return path.readlink()
    except OSError:
        return None


def _check_kind(path: Path) -> None:
    """Raise UsageError if `path` exists and is not a regular file."""
    try:
        # Path.exists and Path.resolve suppress different errors in each release of Python.
        mode = path.stat().st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
    if not stat.S_ISREG(mode):  # a pipe of /dev/stdout has no place in a folder
        kind = "a directory" if stat.S_ISDIR(mode) else "not a regular file"
        raise UsageError(f"cannot write {path}: it is {kind}")


def _status(target: Path) -> os.stat_result | None:
    """Return the status of the regular file `target`; None for a symlink or a missing file."""
    with suppress(OSError):
        status = target.lstat()
        return status if stat.S_ISREG(status.st_mode) else None
    return None


def _keep_owner(before: os.stat_result | None, temporary: Path) -> None:
    if before is None or not hasattr(os, "chown"):  # Windows
        return
    with suppress(OSError):
        os.chown(temporary, before.st_uid, before.st_gid)


def _mode_for(before: os.stat_result | None) -> int:
    if before is not None:
        return before.st_mode & 0o7777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
