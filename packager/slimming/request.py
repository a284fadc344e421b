# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A request to slim files, as a command makes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from packager.records import NamedTuple
from packager.slimming.keeps import Kept
from packager.slimming.selection import Candidate, Choice, OwnArch, choose

# Numbers of images in each container of a file, keyed by the container's offset.
Places = Mapping[int, frozenset[int]]
TABLES = -1  # key for the images of all SYCL tables, in the order of tables


class Request(NamedTuple):
    """The kept devices, and the way of removing other code."""

    keeps: tuple[Kept, ...]
    keep_ptx: bool = False  # PTX stays also where a cubin serves each kept GPU
    zero: bool = False  # removed bytes become zeros, and files keep their sizes
    is_dry: bool = False  # nothing is written
    removed: Places | None = None  # the images that go; without devices, all others stay

    def keeps_whole(self, offset: int) -> bool:
        """Return whether all of a container stays, whatever is in it."""
        return self.removed is not None and offset not in self.removed

    def choice(
        self,
        offset: int,
        images: Sequence[Candidate],
        *,
        own_arch: OwnArch | None = None,
        is_best: bool = True,
    ) -> Choice:
        """Return the kept images of the container at an offset of the file.

        The last arguments are those of `choose`.
        """
        if self.removed is None:
            return choose(
                images, self.keeps, keep_ptx=self.keep_ptx, own_arch=own_arch, is_best=is_best
            )
        gone = self.removed.get(offset, frozenset())
        return Choice(frozenset(range(len(images))) - gone, ())
