# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The calling conventions of kernels for CPUs, by the clang that compiled them."""

from __future__ import annotations

import sys
from collections.abc import Collection

# Releases of clang by the arguments of their kernels: the region's arguments; a runtime argument in
# front of them; one array of pointers to them.
PLAIN, FIRST, ARRAY = range(18), range(18, 23), range(23, sys.maxsize)


def called_by(host: int) -> range:
    """Return the clang releases whose kernels a host's calls reach on omptool's runtime.

    Clang 18's calls have the version of earlier clangs, whose kernels lack the first argument.
    """
    if host in PLAIN:
        return PLAIN
    return range(FIRST.stop) if host == FIRST.start else range(FIRST.start, sys.maxsize)


def are_called(hosts: Collection[int], kernels: Collection[int]) -> bool:
    """Return whether calls reach an image's kernels, by the releases of both sides' clangs.

    If clangs of several conventions compiled the image, each call names its convention.
    """
    kinds = [one for one in (PLAIN, FIRST, ARRAY) if any(kernel in one for kernel in kernels)]
    reaches = any(kernel in called_by(host) for host in hosts for kernel in kernels)
    return reaches or not hosts or len(kinds) != 1


def in_words(releases: range) -> str:
    """Return releases in words: "17 or older", "18 to 22", "18 or later"."""
    if releases.stop == sys.maxsize:
        return f"{releases.start} or later"
    last = releases.stop - 1
    return f"{releases.start} to {last}" if releases.start else f"{last} or older"
