"""How far device images are looked into: what nobody asks for is not read."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


def unwatched(_: int) -> None:
    """Nobody wants to know how far reading has come."""


class Look(NamedTuple):
    """What is asked for of the images of a file, beside where they are and what they are for."""

    # What a host finds in them, and whether they are damaged anywhere. False: no further than the
    # bytes that say kind and architecture.
    symbols: bool = True
    for_entries: bool = False  # symbols only where a host has entries, which pair with them
    resources: bool = True  # what kernels need of a GPU, with their symbols
    hashed: bool = False  # the SHA-256, for which all bytes are read
    code: bool = False  # digests of the code of an object's kernels
    seen: Callable[[int], None] = unwatched  # is told where in the file each image begins

    @property
    def is_whole(self) -> bool:
        """Return whether all that is compressed is to be inflated."""
        return self.symbols or self.hashed


WHOLE = Look()
