# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records of the outcome for a container."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from packager.files.reader import Reader
from packager.records import NamedTuple
from packager.slimming.pieces import Rewritten
from packager.slimming.request import Request
from packager.slimming.selection import Candidate, Choice


class Outcome(NamedTuple):
    """New bytes of a container, its images, and the kept ones."""

    rewrites: tuple[Rewritten, ...]  # one, but of a table those of its parts
    images: tuple[Candidate, ...]
    choice: Choice
    why_whole: str = ""  # why nothing of it is removed, where something could be
    after: Mapping[int, int] | None = None  # new bytes of images that are compressed again

    @property
    def offset(self) -> int:
        """Return the file offset of the container."""
        return self.rewrites[0].offset if self.rewrites else 0


class Held(NamedTuple):
    """An image of a container: its description, its bytes, and the architecture in these."""

    image: Candidate
    data: Reader  # inflated, where other images are compressed with it
    own_arch: Callable[[], str]


# Rewrites the container at the beginning of a view; the number is its size with padding.
Rewrite = Callable[[Reader, int, Request], Outcome]
