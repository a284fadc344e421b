# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Find the user's cache folder, and identify the programs that cached facts belong to."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from packager.errors import UsageError
from packager.files.replacing import is_private, replacing

CACHE, XDG = "OMPTOOL_CACHE_DIR", "XDG_CACHE_HOME"
ELF = b"\x7fELF"
LONGEST = 1 << 20  # largest file of facts


def cache_folder(name: str) -> Path | None:
    """Return a folder of the cache that only this user can write to; None without one."""
    named = os.environ.get(CACHE)
    with suppress(OSError, RuntimeError):  # no home, or no room there
        cache = Path(named) if named else _default()
        folder = cache.absolute() / name
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
        if status.st_uid == os.geteuid() and is_private(folder) and stat.S_ISDIR(status.st_mode):
            return folder
    return None


def program_identity(path: str) -> tuple[bytes, os.stat_result] | None:
    """Return a key that changes with the program, and its status; None for a script.

    A script may start another program each time.
    """
    real = os.path.realpath(path)
    try:
        with Path(real).open("rb") as file:
            if file.read(len(ELF)) != ELF:
                return None
            status = os.fstat(file.fileno())
    except OSError:
        return None
    parts = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return b"%b %b" % (os.fsencode(real), " ".join(map(str, parts)).encode()), status


def read_facts(place: Path) -> bytes:
    """Return the content of a file in the cache; nothing for one that cannot be read."""
    with suppress(OSError), place.open("rb") as file:
        return file.read(LONGEST)
    return b""


def write_facts(place: Path, content: bytes) -> None:
    """Replace a file in the cache; a full or read-only cache is no error."""
    with suppress(OSError, UsageError), replacing(place) as beside:
        beside.write_bytes(content)


def _default() -> Path:
    base = os.environ.get(XDG)
    return (Path(base) if base else Path.home() / ".cache") / "omptool"
