# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The depth to which device images are read: no further than the caller needs."""

from __future__ import annotations

from collections.abc import Callable

from packager.records import NamedTuple


def unwatched(_: int) -> None:
    """Ignore the progress of reading."""


class Look(NamedTuple):
    """The facts to read about the images of a file, beside their place and their target."""

    # Read the symbols that a host can find, and look for damage. False: read only kind and
    # architecture.
    symbols: bool = True
    for_entries: bool = False  # symbols only where a host has entries, which pair with them
    damage: bool = False  # without symbols, too: damage anywhere, and what it needs from elsewhere
    resources: bool = True  # kernels' resources on GPUs, with their symbols
    hashed: bool = False  # the SHA-256, for which all bytes are read
    host_only: bool = False  # regions of the host that were compiled for it alone
    code: bool = False  # digests of the code of an object's kernels
    seen: Callable[[int], None] = unwatched  # is told where in the file each image begins

    @property
    def is_inside(self) -> bool:
        """Return whether more of images is read than their kind and architecture."""
        return self.symbols or self.damage

    @property
    def is_whole(self) -> bool:
        """Return whether all that is compressed is to be inflated."""
        return self.is_inside or self.hashed


WHOLE = Look()
