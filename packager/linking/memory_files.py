# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small inputs of linkers as files in memory: a file on disk takes a fifth of an object's time."""

from __future__ import annotations

import os
from contextlib import ExitStack
from fcntl import F_DUPFD_CLOEXEC, fcntl
from pathlib import Path

# Numbers of files, all with three digits: no path is the beginning of another one. A process may
# have 1024 open files, and archives need some, too.
FIRST, LAST = 100, 699


def own_files() -> str:
    """Return the begin of paths of this process's open files, for all processes of this user."""
    return f"/proc/{os.getpid()}/fd/"


def memory_file(content: bytes, opened: ExitStack) -> Path | None:
    """Store bytes as a file in memory until `opened` closes; None where that is not possible."""
    try:
        fd = os.memfd_create("omptool")
        try:
            os.write(fd, content)
            lasting = fcntl(fd, F_DUPFD_CLOEXEC, FIRST)
        finally:
            os.close(fd)
    except OSError:
        return None
    opened.callback(os.close, lasting)
    path = f"{own_files()}{lasting}"
    is_whole = os.access(path, os.R_OK) and os.fstat(lasting).st_size == len(content)
    return Path(path) if is_whole and lasting <= LAST else None
