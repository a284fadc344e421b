# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The items of every package: a file in it, or the reason why one cannot be read."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from packager.files.reader import Reader
from packager.formats.containers.payload import Damage
from packager.records import NamedTuple

MAX_FILES = 1 << 20
MAX_NAME = 4096


class Stream(NamedTuple):
    """The bytes of a file that is compressed."""

    size: int  # size of all `pieces`, which can be read once per look
    pieces: Callable[[], Iterable[bytes]]  # raises FormatError where they are damaged
    stored: Reader | None  # the compressed bytes of this file alone, if it has its own


class Packed(NamedTuple):
    """A file in a package. Its stream is valid until the next file."""

    name: str  # printable path; never used for writing
    data: Reader | Stream | Damage
    at: int  # offset in the package, or of the compressed stream
