# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Select images and kernels by the user's conditions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

from packager.model import DeviceImage, FatBinary
from packager.naming.region_names import spellings
from packager.patterns import pattern
from packager.questions.kernels import kernels
from packager.triples import is_meant

_LINE = pattern(r":\d+$")


class Wanted:
    """Conditions for images; empty ones always hold."""

    def __init__(
        self,
        indices: Sequence[int] = (),
        triples: Sequence[str] = (),
        archs: Sequence[str] = (),
        kinds: Sequence[str] = (),
        kernels: Sequence[str] = (),
        *,
        is_all: bool = False,
    ) -> None:
        """Keep the conditions; triples are normalised, and kernels are patterns of names."""
        self.indices = indices
        self.triples = triples
        self.archs = archs
        self.kinds = kinds
        self.kernels = kernels
        self.is_all = is_all

    @property
    def is_open(self) -> bool:
        """Return whether there is no condition."""
        named = self.indices or self.triples or self.archs or self.kinds or self.kernels
        return not (named or self.is_all)

    def __call__(self, index: int, binary: FatBinary, image: DeviceImage) -> bool:
        return (
            (not self.indices or index in self.indices)
            and (not self.triples or any(is_meant(one, image.triple) for one in self.triples))
            and (not self.archs or any(self.is_for(image, arch) for arch in self.archs))
            and (not self.kinds or image.kind in self.kinds)
            and (not self.kernels or any(self.names(k.name) for k in kernels(binary, image)))
        )

    @staticmethod
    def is_for(image: DeviceImage, arch: str) -> bool:
        """Return whether an image is for `arch`; without a feature's setting it fits each setting.

        clang-offload-bundler has the same rule: gfx906 is for gfx906:xnack-, and not the other way
        round.
        """
        base, *features = image.processor.split(":")
        wanted, *settings = arch.split(":")
        return image.arch == arch or (base == wanted and set(features) <= set(settings))

    def images(self, binary: FatBinary) -> Iterator[DeviceImage]:
        """Yield the images of a file or member that meet the conditions."""
        return (image for image in binary.images if self(image.index, binary, image))

    def names(self, name: str) -> bool:
        """Return whether the conditions match a kernel or entry of this name."""
        return self._names(name)

    @cached_property
    def _names(self) -> Callable[[str], bool]:
        if not self.kernels:
            return lambda _: True
        patterns = [re.compile(_expression(one)) for one in self.kernels]
        known: dict[str, bool] = {}

        def is_meant(name: str) -> bool:
            if name not in known:
                known[name] = any(p.search(word) for p in patterns for word in spellings(name))
            return known[name]

        return is_meant


def _expression(pattern: str) -> str:
    """Return a regular expression for a part of a name.

    A star matches any characters, and a line number matches as a whole.
    """
    whole = r"(?!\d)" if _LINE.search(pattern) else ""
    return ".*".join(map(re.escape, pattern.split("*"))) + whole
