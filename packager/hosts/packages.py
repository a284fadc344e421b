# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packages: which of their files are read, and their bytes meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain

from packager.elf import headers
from packager.files.reader import Reader
from packager.formats.compressed.streams import spooled
from packager.formats.containers import archive
from packager.formats.containers import known as containers
from packager.formats.device_images import known as images
from packager.formats.packages import conda, debian, is_bzip2, is_zip, zip_file
from packager.formats.packages.packed import Packed, Stream
from packager.hosts.windows import coff_headers

HEAD = 1 << 16  # bytes by which a file is known


def files(data: Reader) -> Iterator[Packed]:
    """Yield the files of a package. Raises FormatError and LimitError as its format does."""
    if is_zip(data):
        return chain.from_iterable(map(conda.inside, zip_file.files(data)))
    return conda.files(data) if is_bzip2(data) else debian.files(data)


@contextmanager
def opened(package: Reader, packed: Stream) -> Iterator[Reader | None]:
    """Keep the bytes of a file for the block; yield None for a file without offload code."""
    pieces = filter(None, packed.pieces())
    head = b""
    while len(head) < min(HEAD, packed.size) and (piece := next(pieces, b"")):
        head += piece
    if not _is_known(Reader(head)):
        yield None
        return
    every = chain((head,), pieces)
    with spooled(every, packed.size, package.context, package.whole) as data:
        yield data


def _is_known(head: Reader) -> bool:
    """Return whether a file may hold offload code, by its first bytes."""
    return (
        headers.probe(head)
        or archive.probe(head)
        or is_zip(head)
        or coff_headers.begins(head)
        or containers.of_file(head) is not None
        or images.is_image(head)
    )
