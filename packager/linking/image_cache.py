# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A cache of device images that LLVM has joined from bitcode, which may take minutes.

A file has an image and what the link prints of it. Its name is a hash of all that the image depends
on. Files are written beside and renamed, so that several builds can use the cache at once.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

from packager.errors import UsageError
from packager.files.cache import cache_folder
from packager.files.replacing import replacing
from packager.records import NamedTuple

FOLDER = "images"
MAGIC = b"omptool image 1\n"
MOST_FACTS = 1 << 20  # bytes of the line of facts before an image
PIECE = 1 << 20
MIB = 1 << 20
ABANDONED = 86400  # seconds after which a file that no build has finished is removed
OWNERS = 0o600
FACTS = ("kind", "arch", "exports", "libraries", "notes")


class _Stored(NamedTuple):
    """A file of the cache."""

    used: float  # time of its last use
    size: int
    path: Path


class ImageCache:
    """The images in one folder, of at most `most` bytes in all."""

    def __init__(self, folder: Path, most: int) -> None:
        self._folder = folder
        self._most = most

    def take(self, key: str, out: Path) -> dict[str, Any] | None:
        """Copy an image to `out`, and return its facts; None if it is not there.

        A damaged file is removed.
        """
        place = self._folder / key
        try:
            with place.open("rb") as file, out.open("wb") as copy:
                digest = file.read(len(MAGIC) + blake2b().digest_size)
                line = file.readline(MOST_FACTS)
                found = blake2b(line)
                while piece := file.read(PIECE):
                    found.update(piece)
                    copy.write(piece)
            if digest == MAGIC + found.digest():
                os.utime(place)
                facts: dict[str, Any] = json.loads(line)
                return facts
            place.unlink()
        except OSError:  # it is not there, or another build has removed it
            pass
        out.unlink(missing_ok=True)
        return None

    def keep(self, key: str, image: Path, facts: dict[str, Any]) -> None:
        """Store an image and its facts. A cache that is full or read-only stays as it is."""
        line = json.dumps(facts).encode() + b"\n"
        if len(line) > MOST_FACTS or image.stat().st_size > self._most:
            return
        with suppress(OSError, UsageError), replacing(self._folder / key, OWNERS) as beside:
            digest = blake2b(line)
            with image.open("rb") as file, beside.open("r+b") as out:
                out.write(MAGIC + digest.digest() + line)
                while piece := file.read(PIECE):
                    digest.update(piece)
                    out.write(piece)
                out.seek(len(MAGIC))
                out.write(digest.digest())
        self._shrink()

    def clear(self) -> tuple[int, int]:
        """Remove all files; return their number, and how many bytes they had."""
        removed = [one.size for one in self._stored() if _removed(one.path)]
        return len(removed), sum(removed)

    def _shrink(self) -> None:
        """Remove the images that were not used for longest, until the others fit."""
        stored = sorted(self._stored())
        size = sum(one.size for one in stored)
        for one in stored:
            is_unfinished = one.path.name.startswith(".")
            if is_unfinished and time.time() - one.used < ABANDONED:
                continue  # another build writes it
            if size > self._most or is_unfinished:
                size -= one.size if _removed(one.path) else 0

    def _stored(self) -> Iterator[_Stored]:
        for path in self._folder.iterdir():
            with suppress(OSError):  # another build may remove it
                status = path.stat()
                yield _Stored(status.st_mtime, status.st_size, path)


def _removed(path: Path) -> bool:
    try:
        path.unlink()
    except OSError:
        return False
    return True


def image_cache(most: int) -> ImageCache | None:
    """Return the user's cache of at most `most` MiB; None if there is no folder for it."""
    folder = cache_folder(FOLDER)
    if folder is None or not os.access(folder, os.W_OK):
        return None
    return ImageCache(Path(folder), most * MIB)
