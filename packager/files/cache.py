# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Find the user's cache folder, and identify the programs that cached facts belong to.

A command may do nothing else than to look into the cache, so this imports nothing slow.
"""

from __future__ import annotations

import os
import stat
from zlib import crc32

CACHE, XDG = "OMPTOOL_CACHE_DIR", "XDG_CACHE_HOME"
ELF = b"\x7fELF"
LONGEST = 1 << 20  # largest file of facts
OTHERS_MAY_WRITE = 0o022
SLOTS = 4096  # most files of `Facts` in a folder
ITEM, PART = "\n", "\2"  # ends of items and of parts in a file
RESERVED = ("\1", ITEM, PART)  # \1 begins marks


def cache_folder(name: str) -> str | None:
    """Return a folder of the cache that only this user can write to; None without one."""
    base = os.environ.get(CACHE)
    if not base:
        home = os.environ.get(XDG) or os.path.expanduser("~/.cache")  # noqa: PTH111 - quick
        if home.startswith("~"):
            return None  # this user has no home
        base = f"{home}/omptool"
    folder = os.path.join(os.path.abspath(base), name)  # noqa: PTH100, PTH118 - quick
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103 - quick
        status = os.stat(folder)  # noqa: PTH116 - quick
    except OSError:  # no home, or no room there
        return None
    is_own = status.st_uid == os.geteuid() and not status.st_mode & OTHERS_MAY_WRITE
    return folder if is_own and stat.S_ISDIR(status.st_mode) else None


def program_identity(path: str) -> tuple[bytes, os.stat_result] | None:
    """Return a key that changes with the program, and its status; None for a script.

    A script may start another program each time.
    """
    real = os.path.realpath(path)
    try:
        fd = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if os.read(fd, len(ELF)) != ELF:
                return None
            status = os.fstat(fd)
        finally:
            os.close(fd)
    except OSError:
        return None
    parts = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return b"%b %b" % (os.fsencode(real), " ".join(map(str, parts)).encode()), status


def read_facts(place: str) -> bytes:
    """Return the content of a file in the cache; nothing for one that cannot be read."""
    try:
        with open(place, "rb") as file:  # noqa: PTH123 - quick
            return file.read(LONGEST)
    except OSError:
        return b""


def write_facts(place: str, content: bytes) -> None:
    """Replace a file in the cache; a full or read-only cache is no error."""
    from pathlib import Path

    from packager.errors import UsageError
    from packager.files.replacing import replacing

    try:
        with replacing(Path(place)) as beside:
            beside.write_bytes(content)
    except (OSError, UsageError):
        pass


def state(path: str) -> str:
    """Return a text that changes with a file, or with the list of files in a folder."""
    try:
        status = os.stat(path)  # noqa: PTH116 - quick
    except OSError:
        return f"- {path}"
    return f"{status.st_ino} {status.st_size} {status.st_mtime_ns} {path}"


class Facts:
    """Lists of words by keys, in one folder of the cache; each depends on states of files."""

    def __init__(self, folder: str, key: str) -> None:
        self._key = key
        self._place = f"{folder}/{crc32(os.fsencode(key)) % SLOTS:x}"

    def words(self) -> list[str] | None:
        """Return the words; None if they are not there, damaged or out of date."""
        parts, _, checked = os.fsdecode(read_facts(self._place)).rpartition(PART)
        if checked != _sum(parts) or not parts.startswith(self._key + PART):
            return None
        states, _, words = parts[len(self._key + PART) :].partition(PART)
        for one in states.split(ITEM):
            if one != state("/" + one.partition("/")[2]):
                return None
        return words.split(ITEM) if words else []

    def keep(self, words: list[str], files: list[str]) -> None:
        """Store words that depend on states of files and folders, given by absolute paths."""
        states = ITEM.join(map(state, files))
        parts = PART.join((self._key, states, ITEM.join(words)))
        write_facts(self._place, os.fsencode(f"{parts}{PART}{_sum(parts)}"))


def is_plain(words: list[str]) -> bool:
    """Return whether words can be stored: they have none of the characters that end parts."""
    text = "".join(words)
    return not any(mark in text for mark in RESERVED)


def _sum(parts: str) -> str:
    return f"{crc32(os.fsencode(parts)):x}"
