# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conda's packages: a zip file with the files in pkg-NAME.tar.zst, or before that one .tar.bz2."""

from __future__ import annotations

from collections.abc import Iterator

from packager.files.reader import Reader
from packager.formats.compressed.streams import stream
from packager.formats.packages import tar_stream
from packager.formats.packages.packed import Packed

FIRST, LAST, ABOUT = "pkg-", ".tar.zst", "info-"


def files(data: Reader) -> Iterator[Packed]:
    """Yield the files of a .tar.bz2. Raises FormatError where it is damaged."""
    yield from _unpacked(data, "bzip2", "package")


def inside(packed: Packed) -> Iterator[Packed]:
    """Yield the files of a zip file's member that is a conda package's, or any other member."""
    is_part = packed.name.endswith(LAST)
    if is_part and packed.name.startswith(FIRST) and isinstance(packed.data, Reader):
        yield from _unpacked(packed.data, "zstd", packed.name)
    elif not (is_part and packed.name.startswith(ABOUT)):
        yield packed


def _unpacked(data: Reader, method: str, name: str) -> Iterator[Packed]:
    pieces = stream(data, method, name)
    yield from tar_stream.files(pieces, data.at)
    for _ in pieces:  # whether it is cut off shows at its end
        pass
