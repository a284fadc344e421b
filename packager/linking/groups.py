# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Group device code by target: one image each."""

from __future__ import annotations

from collections.abc import Iterable

from packager.linking.inputs import HostPart, Part
from packager.model import NO_ARCH
from packager.records import NamedTuple


class Group(NamedTuple):
    """The device code of one target."""

    triple: str
    arch: str  # "" for none in particular
    parts: tuple[Part, ...]

    @property
    def name(self) -> str:
        """Return triple and arch, as a user names them."""
        return f"{self.triple}:{self.arch}" if self.arch else self.triple


def grouped(parts: Iterable[HostPart]) -> list[Group]:
    """Return the groups, in the order of their first code."""
    found: dict[tuple[str, str], list[Part]] = {}
    for part in parts:
        for one in part.parts:
            arch = one.image.processor
            key = one.image.triple, "" if arch in NO_ARCH else arch
            found.setdefault(key, []).append(one)
    return [Group(triple, arch, tuple(group)) for (triple, arch), group in found.items()]
