# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An edit's request, and how the command line writes it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from packager.errors import UsageError
from packager.model import DeviceImage
from packager.records import NamedTuple
from packager.triples import is_meant, normalise
from packager.writers.requests import ImageRequest, parse_request


class Named(NamedTuple):
    """An image of the file, as a user names it: by its number, or by triple and arch."""

    text: str
    number: int | None
    triple: str = ""
    arch: str = ""

    def means(self, image: DeviceImage) -> bool:
        """Return whether the request names an image."""
        if self.number is not None:
            return image.index == self.number
        is_arch = self.arch in ("", image.arch, image.processor)
        return is_arch and is_meant(self.triple, triple_of(image))


def triple_of(image: DeviceImage) -> str:
    """Return an image's declared triple; clang 14 declares none, so that of its code."""
    return image.triple or normalise(image.contents.machine or "unknown")


def name_of(image: DeviceImage) -> str:
    """Return the name of an image in a sentence."""
    return f"image {image.index} ({image.target})"


class Replacement(NamedTuple):
    """An image of the file, and the file that replaces it."""

    named: Named
    path: Path


class Change(NamedTuple):
    """All that one edit does: removals and replacements, then additions, then the order."""

    added: Sequence[ImageRequest] = ()
    replaced: Sequence[Replacement] = ()
    removed: Sequence[Named] = ()
    order: Sequence[int] | None = None  # numbers as `dump` has them, and those of added ones behind
    descriptor: int | None = None

    @property
    def is_empty(self) -> bool:
        """Return whether the request is empty."""
        return not (self.added or self.replaced or self.removed or self.order is not None)


def parse_named(text: str) -> Named:
    """Parse `N` or `TRIPLE[:ARCH]`. Raises UsageError for any other text."""
    if text.isdecimal() and text.isascii():
        return Named(text, int(text))
    try:
        request = parse_request(f"{text}=.")
    except UsageError as error:
        raise UsageError(f"{text!r} is neither the number of an image nor TRIPLE[:ARCH]") from error
    return Named(text, None, request.triple, request.arch)


def parse_replacement(text: str) -> Replacement:
    """Parse `N=FILE` or `TRIPLE[:ARCH]=FILE`. Raises UsageError for any other text."""
    name, equals, path = text.partition("=")
    if not name or not equals or not path:
        raise UsageError(f"{text!r} is neither N=FILE nor TRIPLE[:ARCH]=FILE")
    return Replacement(parse_named(name), Path(path))


def parse_order(text: str) -> tuple[int, ...]:
    """Parse `N,N,…`. Raises UsageError for any other text."""
    words = text.split(",")
    if not all(word.isdecimal() and word.isascii() for word in words):
        raise UsageError(f"order {text!r} is not N,N,…")
    return tuple(map(int, words))
