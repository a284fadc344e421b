# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records of slimming a file, a file in a package, and all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from packager.errors import FormatError
from packager.records import NamedTuple


class Share(NamedTuple):
    """Stored bytes of device code for one architecture."""

    arch: str
    before: int
    after: int


class Slimmed(NamedTuple):
    """A file before and after.

    If `lacking` has messages, a kept GPU would lose all kernels, and nothing is written.
    """

    path: str  # a file in a package is written as package, colon, name
    before: int
    after: int
    shares: tuple[Share, ...] = ()
    notes: tuple[str, ...] = ()  # parts left alone or zeroed, with the reason
    lacking: tuple[str, ...] = ()

    @property
    def is_changed(self) -> bool:
        """Return whether device code is removed."""
        return any(share.before != share.after for share in self.shares)


class SignedError(FormatError):
    """A package is signed, and a change would invalidate the signature."""

    def __init__(self, name: str) -> None:
        super().__init__(f"is signed by {name}: its files stay as they are")


def is_worth_writing(files: Iterable[Slimmed]) -> bool:
    """Return whether device code is removed, and every kept GPU keeps kernels."""
    found = list(files)
    return any(one.is_changed for one in found) and not any(one.lacking for one in found)


# Slims the first file into the second, which must not exist. Writes nothing if there is nothing to
# remove, or the second path is None. The string is the file's name for messages. Returns None for a
# file without device code.
Slimmer = Callable[[Path, "Path | None", str], "Slimmed | None"]


def merged(shares: Iterable[Share]) -> tuple[Share, ...]:
    """Return one share for each architecture, in the order of their names."""
    sums: dict[str, tuple[int, int]] = {}
    for share in shares:
        before, after = sums.get(share.arch, (0, 0))
        sums[share.arch] = before + share.before, after + share.after
    return tuple(Share(arch, *sums[arch]) for arch in sorted(sums))
