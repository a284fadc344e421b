# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The calling conventions of kernels for CPUs, by the clang that compiled them."""

from __future__ import annotations

import sys
from collections.abc import Collection

# Releases of clang by the arguments of their kernels: the region's arguments; a runtime argument in
# front of them; one array of pointers to them.
PLAIN, FIRST, ARRAY = range(18), range(18, 23), range(23, sys.maxsize)


def called_by(host: int) -> range:
    """Return the releases whose kernels a host's calls reach on omptool's runtime.

    Calls of clang 18 have the version of those before, whose kernels have no such argument.
    """
    if host in PLAIN:
        return PLAIN
    return range(FIRST.stop) if host == FIRST.start else range(FIRST.start, sys.maxsize)


def are_called(hosts: Collection[int], kernels: Collection[int]) -> bool:
    """Return whether calls reach the kernels of an image, as far as its clangs and the hosts' tell.

    Where clangs of several conventions compiled the image, each call says which it means.
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
