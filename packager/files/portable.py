# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Portable calls on files, with one behaviour on every system and release of Python.

If a system lacks a call, another call replaces it. Before Python 3.14, Path.exists and Path.is_file
raise OSError for an impossible name, and for a folder without permission to search it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from threading import Lock

OF_MACOS = 10240  # open files
_moving = Lock()  # the place of a file, which all threads share


def _flags(*names: str) -> int:
    """Return the flags of these names for `os.open`, as far as this system has them."""
    return sum(getattr(os, name, 0) for name in names)


# Flags of every open: child processes do not inherit the file, and Windows does not translate line
# ends. READING does not wait for a pipe's writer.
_ANY = _flags("O_CLOEXEC", "O_NOINHERIT", "O_BINARY")
READING = os.O_RDONLY | _flags("O_NONBLOCK") | _ANY
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _flags("O_NOFOLLOW") | _ANY


@contextmanager
def _moved(fd: int, offset: int) -> Iterator[None]:
    """Have a file at another place for the block: streams rely on the place where they left it."""
    with _moving:
        before = os.lseek(fd, 0, os.SEEK_CUR)
        os.lseek(fd, offset, os.SEEK_SET)
        try:
            yield
        finally:
            os.lseek(fd, before, os.SEEK_SET)


def _read_in_place(fd: int, size: int, offset: int) -> bytes:
    """Read as os.pread does, which Windows lacks."""
    with _moved(fd, offset):
        return os.read(fd, size)


def _write_in_place(fd: int, data: bytes | memoryview, offset: int) -> int:
    """Write as os.pwrite does, which Windows lacks."""
    with _moved(fd, offset):
        return os.write(fd, data)


pread = getattr(os, "pread", _read_in_place)
pwrite = getattr(os, "pwrite", _write_in_place)


def read_into(fd: int, memory: memoryview, offset: int) -> int:
    """Read into `memory` at once where the system can; return the number of bytes."""
    if hasattr(os, "preadv"):
        return os.preadv(fd, [memory], offset)
    found: bytes = pread(fd, len(memory), offset)
    memory[: len(found)] = found
    return len(found)


def allow_more() -> None:
    """Let this process have as many open files as it may."""
    try:
        from resource import RLIMIT_NOFILE, getrlimit, setrlimit
    except ImportError:  # Windows, where it may have thousands
        return
    _, most = getrlimit(RLIMIT_NOFILE)
    try:
        setrlimit(RLIMIT_NOFILE, (most, most))
    except ValueError:  # macOS says that there is no limit, and has this one
        setrlimit(RLIMIT_NOFILE, (OF_MACOS, most))


def make_binary(fd: int) -> None:
    """Set Windows' binary mode for an open file."""
    try:
        of_windows = import_module("msvcrt")
    except ImportError:
        return
    of_windows.setmode(fd, _flags("O_BINARY"))


def cores() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def exists(path: Path) -> bool:
    """Return whether something is there that this process can see."""
    return _mode(path) is not None


def is_same(path: Path, other: Path) -> bool:
    """Return whether both paths refer to the same file that this process can see."""
    try:
        return path.samefile(other)
    except OSError:
        return False


def is_file(path: Path) -> bool:
    """Return whether a regular file is there that this process can see."""
    mode = _mode(path)
    return mode is not None and stat.S_ISREG(mode)


def _mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except (OSError, ValueError):  # ValueError: a null byte
        return None
