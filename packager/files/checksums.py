# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checksums that tell files apart, taken beside other work."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from pathlib import Path
from threading import Thread

from xxhash import xxh3_128

from packager.errors import FormatError

# In smaller pieces, Python's lock is handed over too often; larger ones do not stay in the cache.
PIECE = 2 << 20


class Checksums(Thread):
    """Reads files from the beginning of the block on, and stops at its end, whatever is left.

    It is for who needs to know them late, if at all: both the reading and the sums are the work of
    another core, while this one loads modules and waits for the kernel.
    """

    def __init__(self, paths: Iterable[Path]) -> None:
        super().__init__(daemon=True)
        self._paths = list(dict.fromkeys(paths))
        self._sums: dict[Path, bytes] = {}
        self._faults: dict[Path, str] = {}
        self._is_wanted = True

    def run(self) -> None:
        """Read every file, unless nobody wants them any more."""
        buffer = memoryview(bytearray(PIECE))
        for path in self._paths:
            try:
                self._sums[path] = self._of(path, buffer)
            except OSError as error:
                self._faults[path] = error.strerror or str(error)

    def _of(self, path: Path, buffer: memoryview) -> bytes:
        if not path.is_file():  # a pipe would never end
            raise FileNotFoundError(errno.EINVAL, "not a regular file")
        digest = xxh3_128()
        with path.open("rb", buffering=0) as file:
            while self._is_wanted and (size := os.readv(file.fileno(), [buffer])):
                digest.update(buffer[:size])
        return digest.digest()

    def of(self, path: Path) -> bytes:
        """The checksum of a file: any two files differ in theirs.

        Waits for it. Raises FormatError when the file cannot be read.
        """
        self.join()
        if path in self._faults:
            raise FormatError(f"{path}: {self._faults[path]}")
        return self._sums[path]

    def __enter__(self) -> Checksums:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_wanted = False
        self.join()
