# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks between files that are parts of one program."""

from __future__ import annotations

from collections.abc import Iterator

from packager.checks.structure import clashes, triples
from packager.model import FatBinary, Finding
from packager.records import NamedTuple

HINT = "rename one: clang's names hold the source file, not the flags that it was compiled with"
Key = tuple[str, str]  # target of an image, and name of a kernel in it


class _Place(NamedTuple):
    """The place of a kernel; tuples sort in the order of files, and of kernels in a file."""

    file: int
    number: int
    path: str


class Earlier:
    """Facts of earlier files that a later one may contradict, indexed for thousands of objects."""

    def __init__(self) -> None:
        self._count = 0
        self._kernels: dict[Key, dict[bytes, list[_Place]]] = {}  # keyed by digest
        self._orders: dict[tuple[str, ...], list[tuple[int, str]]] = {}  # file, path

    def add(self, binary: FatBinary) -> None:
        """Add a file, with which later ones are compared."""
        for number, (key, code) in enumerate(_by_target(binary).items()):
            places = self._kernels.setdefault(key, {}).setdefault(code, [])
            places.append(_Place(self._count, number, binary.path))
        if (order := _order(binary)) is not None:
            self._orders.setdefault(order, []).append((self._count, binary.path))
        self._count += 1

    def collisions(self, binary: FatBinary) -> Iterator[Finding]:
        """Yield OMP108 for kernels that an earlier file has with other code: the linker keeps one.

        Equal copies are no finding: templates and inline functions make them.
        """
        found = [
            (place, key)
            for key, code in _by_target(binary).items()
            for other, places in self._kernels.get(key, {}).items()
            if other != code
            for place in places
            if place.path != binary.path
        ]
        for place, (target, name) in sorted(found):
            message = f"{name} is in {place.path}, too, and has other code for {target}"
            message += ": the link drops one of the two"
            yield Finding("OMP108", "error", message, HINT)

    def orders(self, binary: FatBinary) -> Iterator[Finding]:
        """Yield OMP127 for triples that `binary` lists in another order than an earlier file."""
        order = _order(binary)
        if order is None:
            return
        found: list[tuple[int, list[Finding]]] = []
        for other, files in self._orders.items():
            if not any(clashes([("", list(other)), ("", list(order))])):
                continue
            for number, path in files:
                rows = [(path, list(other)), ("this file", list(order))]
                found.append((number, list(clashes(rows))))
        for _, findings in sorted(found, key=lambda one: one[0]):
            yield from findings


def _by_target(binary: FatBinary) -> dict[Key, bytes]:
    """Return the digests of an object's kernels, by what their image is for and their name."""
    return {(binary.images[one.image].target, one.name): one.digest for one in binary.codes}


def _order(binary: FatBinary) -> tuple[str, ...] | None:
    """Return the triples of the first descriptor, in its order; None without a descriptor."""
    return next((tuple(triples(binary, d.images)) for d in binary.descriptors), None)
