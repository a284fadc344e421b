# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The context of reading one file: quotas, the depth of reading images, and caches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from packager.errors import LimitError
from packager.files.names import text
from packager.files.sources import Room
from packager.look import WHOLE, Look

# Most bytes of all strings read from one file, counted at each read: tables of a small file may
# share a long string.
MAX_STRINGS = 1 << 27
STRINGS_OF_A_BYTE = 4
# Most images of a file; the largest libraries have some thousand.
MAX_IMAGES = 1 << 20


class Closing(Protocol):
    """Ends with its file."""

    def close(self) -> None:
        """End."""


class Context:
    """Shared by all views of a file of `size` bytes, and of its inflated parts.

    It counts what they read, so that small files cannot cost much: their tables may all refer to
    one place. `look` limits how much of the images is read, and has a callback for progress.
    """

    def __init__(self, size: int = 0, look: Look = WHOLE) -> None:
        self.size = size
        self.look = look
        self.strings = 0  # characters
        self.images = 0
        self.in_images = 0  # bytes
        self.inflated = 0  # bytes
        self.containers = 0  # bytes of those in others
        self.room = Room()  # memory for large inflated data
        self.ahead: Closing | None = None  # inflates images ahead of their readers

    def close(self) -> None:
        """Free the caches."""
        if self.ahead:
            self.ahead.close()
        self.room.close()

    def string(self, name: bytes) -> str:
        """Return a name read from the file as safe text, and count it against the quota."""
        found = text(name)
        self.count(len(found))
        return found

    def count(self, characters: int) -> None:
        """Count the characters of strings read. Raises LimitError if they are too many."""
        self.strings += characters
        most = MAX_STRINGS + STRINGS_OF_A_BYTE * (self.size + self.inflated)
        if self.strings > most:
            raise LimitError(f"strings of more than {most} bytes in all are not read")

    @contextmanager
    def looking(self, look: Look) -> Iterator[None]:
        """Use `look` in the block as the depth to which images are read."""
        before, self.look = self.look, look
        try:
            yield
        finally:
            self.look = before

    def image(self, size: int, available: int) -> None:
        """Count a device image: together, images cannot be larger than the bytes that hold them."""
        self.images += 1
        self.in_images += size
        if self.in_images > available + self.inflated:
            raise LimitError(
                f"device images overlap: they have {self.in_images} bytes, and the file "
                f"{available + self.inflated}"
            )
        if self.images > MAX_IMAGES:
            raise LimitError(f"more than {MAX_IMAGES} device images are not read")

    def opened(self, size: int, available: int) -> None:
        """Count a container in another one: tables may all point to one place."""
        self.containers += size
        if self.containers > available + self.inflated:
            raise LimitError(f"nested containers overlap: they have {self.containers} bytes")
