# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks between files that are parts of one program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from packager.checks.structure import clashes, triples
from packager.model import FatBinary, Finding

HINT = "rename one: clang's names hold the source file, not the flags that it was compiled with"


def collisions(earlier: Sequence[FatBinary], binary: FatBinary) -> Iterator[Finding]:
    """Yield OMP108 for kernels that one of `earlier` has, with other code: the linker keeps one.

    Copies with equal code are what templates and inline functions make, and no finding.
    """
    own = _by_target(binary)
    for other in earlier:
        if other.path == binary.path:
            continue
        for key, code in _by_target(other).items():
            if code != own.get(key, code):
                target, name = key
                message = f"{name} is in {other.path}, too, and has other code for {target}"
                message += ": the link drops one of the two"
                yield Finding("OMP108", "error", message, HINT)


def _by_target(binary: FatBinary) -> dict[tuple[str, str], bytes]:
    """Return the digests of an object's kernels, by what their image is for and their name."""
    return {(binary.images[one.image].target, one.name): one.digest for one in binary.codes}


def orders(earlier: Sequence[FatBinary], binary: FatBinary) -> Iterator[Finding]:
    """Yield OMP127 for triples that `binary` lists in another order than one of `earlier`."""
    for other in earlier:
        first = [triples(other, d.images) for d in other.descriptors[:1]]
        second = [triples(binary, d.images) for d in binary.descriptors[:1]]
        names = (other.path, "this file")
        yield from clashes(list(zip(names, (*first, *second), strict=False)))
