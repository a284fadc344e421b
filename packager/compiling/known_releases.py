# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cache the releases of compilers between commands.

Running `clang --version` takes a sixth of the time in which clang compiles a small file.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from packager.errors import UsageError
from packager.files.replacing import is_private, replacing
from packager.processes.programs import which

CACHE, XDG = "OMPTOOL_CACHE_DIR", "XDG_CACHE_HOME"
FOLDER = "compilers"
ELF = b"\x7fELF"
LONGEST = 1 << 13  # largest file of the cache, which holds a path


def release_of(compiler: Sequence[str], ask: Callable[[], int | None]) -> int | None:
    """Return the result of `ask` for a compiler, from the cache if the program is the same.

    Scripts and commands with arguments run each time, because they may start other programs.
    """
    key = _key(compiler)
    place = _place(key) if key else None
    if key is None or place is None:
        return ask()
    with suppress(OSError, ValueError), place.open("rb") as file:
        known, _, release = file.read(LONGEST).rpartition(b"\n")
        if known == key:
            return int(release)
    found = ask()
    if found is not None:
        with suppress(OSError, UsageError), replacing(place) as beside:
            beside.write_bytes(b"%b\n%d" % (key, found))
    return found


def _key(compiler: Sequence[str]) -> bytes | None:
    """Return the cache key of a compiler's program; None if the program must run each time."""
    if len(compiler) != 1:
        return None
    path = os.path.realpath(which(compiler[0]) or compiler[0])
    try:
        with Path(path).open("rb") as file:
            if file.read(len(ELF)) != ELF:
                return None
            status = os.fstat(file.fileno())
    except OSError:
        return None
    parts = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return b"%b %b" % (os.fsencode(path), " ".join(map(str, parts)).encode())


def _place(key: bytes) -> Path | None:
    """Return the file of a key in a folder that only this user can write to."""
    named = os.environ.get(CACHE)
    with suppress(OSError, RuntimeError):  # no home, or no room there
        cache = Path(named) if named else _default()
        folder = cache.absolute() / FOLDER
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
        if status.st_uid == os.geteuid() and is_private(folder) and stat.S_ISDIR(status.st_mode):
            device, inode = key.split()[-5:-3]
            return folder / f"{int(device):x}-{int(inode):x}"
    return None


def _default() -> Path:
    base = os.environ.get(XDG)
    return (Path(base) if base else Path.home() / ".cache") / "omptool"
