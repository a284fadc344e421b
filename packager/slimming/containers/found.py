# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Find containers that can be rewritten: their kinds, their extents, and those in files."""

from __future__ import annotations

from collections.abc import Callable

from packager.errors import FormatError
from packager.files.reader import Reader
from packager.formats.containers import cuda_fatbin, offload_binary, zstd_frame
from packager.formats.containers import known as formats
from packager.formats.containers.bundles import clang_bundle, compressed_bundle
from packager.records import NamedTuple
from packager.slimming.containers import blobs, bundles, cuda
from packager.slimming.containers.outcome import Held, Outcome, Rewrite, limited
from packager.slimming.pieces import Piece, Rewritten
from packager.slimming.selection import Choice

HOST = clang_bundle.HOST
MAX_CONTAINERS = 1 << 17


class Left(NamedTuple):
    """A part of a file that slim does not change, and why."""

    what: str
    reason: str


class Kind(NamedTuple):
    """A kind of container."""

    probe: Callable[[Reader], bool]
    extent: Callable[[Reader], int]  # size without padding
    rewrite: Rewrite
    images: Callable[[Reader], list[Held]]
    alignment: int
    is_best: bool = True  # a runtime chooses one image of a container


class Found(NamedTuple):
    """A container; `data` begins with it and ends behind its padding."""

    data: Reader
    kind: Kind
    size: int  # without padding

    @property
    def content(self) -> Reader:
        """Return its bytes without padding."""
        return self.data.slice(0, self.size, "container")

    @property
    def padded(self) -> int:
        """Return its bytes with padding."""
        return len(self.data)


def _of_fatbin(data: Reader) -> int:
    return len(cuda_fatbin.whole(data).data)


def _of_bundle(data: Reader) -> int:
    rows = limited(clang_bundle.rows(data))
    ends = [row.offset + row.size for row in rows if row.size]
    end = max(len(clang_bundle.table(rows)), *ends) if ends else len(clang_bundle.table(rows))
    return len(data.slice(0, end, "bundle"))


def _of_compressed(data: Reader) -> int:
    """Return the size of a compressed bundle; the first version does not record it."""
    total, method, packed = compressed_bundle.head(data)
    if total < len(data) or method != "zstd":
        return total
    return total - len(packed.data) + zstd_frame.measure(packed.data).stored


KINDS = (
    Kind(cuda_fatbin.probe, _of_fatbin, cuda.rewrite, cuda.images, cuda.ALIGNMENT),
    Kind(clang_bundle.probe, _of_bundle, bundles.rewrite, bundles.images, bundles.ALIGNMENT),
    Kind(
        compressed_bundle.probe,
        _of_compressed,
        bundles.rewrite_compressed,
        bundles.images_of_compressed,
        bundles.ALIGNMENT,
    ),
    Kind(
        offload_binary.probe,
        blobs.extent,
        blobs.rewrite,
        blobs.images,
        blobs.ALIGNMENT,
        is_best=False,
    ),
)


def at_beginning(data: Reader, *, is_padded: bool = True) -> Found:
    """Return the container at the beginning of `data`. Zeros behind it are its padding.

    Raises FormatError if there is none, or it is malformed.
    """
    kind = next((kind for kind in KINDS if kind.probe(data)), None)
    if kind is None:
        raise FormatError(f"no container of a known kind is at {data.at:#x}")
    size = kind.extent(data)
    padding = clang_bundle.zeros(data, size) if is_padded else 0
    return Found(data.slice(0, size + padding, "container"), kind, size)


def whole(offset: int, size: int, alignment: int) -> Outcome:
    """Return the outcome of an unchanged container."""
    same = Rewritten(offset, size, alignment, (Piece(offset, size),))
    return Outcome((same,), (), Choice(frozenset(), ()))


def in_file(data: Reader) -> tuple[list[Found], list[Left]]:
    """Return the containers of a file that is a sequence of them, and the parts left alone."""
    found: list[Found] = []
    at = 0
    while at < len(data) and len(found) < MAX_CONTAINERS:
        rest = data.slice(at, len(data) - at, "container")
        try:
            found.append(at_beginning(rest))
        except FormatError as error:
            if not found and not formats.of_file(data):
                return [], []
            return found, [Left(f"{len(rest)} bytes at {rest.at:#x}", str(error))]
        at += found[-1].padded
    return found, []
