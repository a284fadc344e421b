# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records of the outcome for a container."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import TypeVar

from packager.errors import LimitError
from packager.files.reader import Reader
from packager.records import NamedTuple
from packager.slimming.pieces import Rewritten
from packager.slimming.request import Request
from packager.slimming.selection import Candidate, Choice

T = TypeVar("T")

# Most images of a container; real ones have some hundred. An image takes up to a KiB of memory.
MOST_IMAGES = 1 << 15


def limited(images: Iterable[T]) -> list[T]:
    """Return the images of one container. Raises LimitError for implausibly many."""
    found = list(islice(images, MOST_IMAGES + 1))
    if len(found) > MOST_IMAGES:
        raise LimitError(f"a container has more than {MOST_IMAGES} images, which is the limit")
    return found


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
