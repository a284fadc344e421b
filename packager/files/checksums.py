# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compute checksums of files in another thread."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from threading import Thread

from xxhash import xxh3_128

from packager.errors import FormatError
from packager.files.reader import OpenFiles

# With smaller pieces threads contend for Python's lock; larger ones exceed the CPU's cache.
PIECE = 2 << 20


class Checksums(Thread):
    """Reads files in the background during the block; its end stops the reading.

    It serves callers that need the checksums late, or never. Reading and hashing use another core
    while the caller loads modules and waits for the kernel.
    """

    def __init__(self, files: OpenFiles, paths: Iterable[Path]) -> None:
        super().__init__(daemon=True)
        self._files = files
        self._paths = list(dict.fromkeys(paths))
        self._sums: dict[Path, bytes] = {}
        self._faults: dict[Path, str] = {}
        self._is_wanted = True

    def run(self) -> None:
        """Read every file, unless the block has ended."""
        buffer = memoryview(bytearray(PIECE))
        for path in self._paths:
            try:
                self._sums[path] = self._of(path, buffer)
            except FormatError as error:
                self._faults[path] = str(error)

    def _of(self, path: Path, buffer: memoryview) -> bytes:
        digest = xxh3_128()
        data = self._files.data(path)
        for start in range(0, len(data), PIECE):
            if not self._is_wanted:
                break
            piece = buffer[: min(PIECE, len(data) - start)]
            data.slice(start, len(piece), "file").read_into(piece)
            digest.update(piece)
        return digest.digest()

    def of(self, path: Path) -> bytes:
        """Return the checksum of a file; waits until it is computed.

        Raises FormatError if the file cannot be read.
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
