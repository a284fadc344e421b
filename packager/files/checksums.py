"""What tells files apart: checksums, taken beside other work."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from threading import Thread
from zlib import crc32

from packager.errors import FormatError

# In smaller pieces, Python's lock would be handed over so often that both sides wait for it.
PIECE = 4 << 20


class Checksums(Thread):
    """Reads files from the beginning of the block on, and stops at its end, whatever is left.

    It is for who needs to know them late, if at all: both the reading and the sums are the work of
    another core, while this one loads modules and waits for the kernel.
    """

    def __init__(self, paths: Iterable[Path]) -> None:
        super().__init__(daemon=True)
        self._paths = list(paths)
        self._sums: dict[Path, bytes] = {}
        self._faults: dict[Path, str] = {}
        self._is_wanted = True

    def run(self) -> None:
        """Take the checksums of every file, unless nobody wants them any more."""
        buffer = memoryview(bytearray(PIECE))
        for path in self._paths:
            try:
                self._sums[path] = b"".join(self._of(path, buffer))
            except OSError as error:
                self._faults[path] = error.strerror or str(error)

    def _of(self, path: Path, buffer: memoryview) -> Iterator[bytes]:
        if not path.is_file():  # a pipe would never end
            raise FileNotFoundError(0, "not a regular file")
        with path.open("rb", buffering=0) as file:
            while self._is_wanted and (size := os.readv(file.fileno(), [buffer])):
                yield crc32(buffer[:size]).to_bytes(4, "little")

    def of(self, paths: Iterable[Path]) -> bytes:
        """The checksums of all pieces of these files: any two lists of files differ in theirs.

        Waits for them. Raises FormatError for a file that cannot be read.
        """
        self.join()
        wanted = list(paths)
        for path in wanted:
            if path in self._faults:
                raise FormatError(f"{path}: {self._faults[path]}")
        return b"".join(self._sums[path] for path in wanted)

    def __enter__(self) -> Checksums:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_wanted = False
        self.join()
