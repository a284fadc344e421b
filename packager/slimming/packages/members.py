# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files of a package that may have device code: inflated beside the output, and slimmed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from packager.errors import FormatError, LimitError
from packager.formats.compressed.inflate import expect_ratio
from packager.slimming.slimmed import Slimmed, Slimmer

# Limit of bytes for all files of a package together; the largest wheels inflate to 5 GiB.
MOST = 1 << 36
# First bytes of files with device code: ELF and its archives, Windows' libraries, fat binaries and
# bundles.
BEGINNINGS = (
    b"\x7fELF",
    b"!<arch>\n",
    b"!<thin>\n",
    b"MZ",
    b"\x50\xed\x55\xba",
    b"__CLANG_OFFLOAD_BUNDLE__",
    b"CCOB",
    b"\x10\xff\x10\xad",
)
LONGEST = max(map(len, BEGINNINGS))
PIECE = 1 << 20


def may_have_code(beginning: bytes) -> bool:
    """Return whether device code can be in a file that begins so."""
    return beginning.startswith(BEGINNINGS)


def pieces(beginning: bytes, file: IO[bytes]) -> Iterator[bytes]:
    """Yield the bytes of a file of which `beginning` has been read."""
    yield beginning
    while piece := file.read(PIECE):
        yield piece


class Members:
    """Slims the files of one package, one after the other, in a folder of its own."""

    def __init__(self, package: str, folder: Path, slim: Slimmer) -> None:
        self._package = package
        self.source = folder / "source"  # the file that `slim` was last called for
        self._result = folder / "result"
        self._slim = slim
        self._inflated = 0
        self.slimmed: list[Slimmed] = []

    def slim(self, name: str, stored: int, size: int, pieces: Iterable[bytes]) -> Path | None:
        """Return the path of the shorter file, which the next call replaces; None if it stays.

        `stored` are the bytes that the file has in the package. Raises LimitError where it, or all
        files together, inflate to more than the limits, FormatError where it has another size.
        """
        self._result.unlink(missing_ok=True)
        self._inflate(name, stored, size, pieces)
        found = self._slim(self.source, self._result, f"{self._package}:{name}")
        if found is None:
            return None
        self.slimmed.append(found)
        return self._result if found.is_changed and not found.lacking else None

    def leave(self, name: str, size: int, reason: str) -> None:
        """Record a file that is not read."""
        note = f"it is left alone: {reason}"
        self.slimmed.append(Slimmed(f"{self._package}:{name}", size, size, notes=(note,)))

    def _inflate(self, name: str, stored: int, size: int, pieces: Iterable[bytes]) -> None:
        expect_ratio(stored, size, name, MOST)
        self._inflated += size
        if self._inflated > MOST:
            raise LimitError(f"its files inflate to more than the limit of {MOST} bytes")
        written = 0
        with self.source.open("wb") as file:
            for piece in pieces:
                written += file.write(piece)
                if written > size:
                    break
        if written != size:
            raise FormatError(f"{name} inflates to {written} bytes or more, not to {size}")
