# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CCOB: a clang-offload-bundler bundle, compressed (LLVM 18 on).

"CCOB", u16 version, u16 method, then by version: 1: u32 inflated size; 2: u32 file size, u32
inflated size; 3: the same as u64; then the first 8 bytes of the MD5 of the inflated bundle.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct

from packager.errors import FormatError, LimitError
from packager.files.reader import NewerError, Reader
from packager.formats.compressed.inflate import inflate
from packager.formats.containers.bundles import clang_bundle
from packager.formats.containers.payload import Payload
from packager.records import NamedTuple

NAME = "compressed-bundle"
MAGIC = b"CCOB"
HEAD = Struct("<4sHH")
# Rest of the header by version. Version 1 has no file size, so no bundle can follow it.
SIZES = {1: Struct("<I8s"), 2: Struct("<II8s"), 3: Struct("<QQ8s")}
NEWEST = max(SIZES)
METHODS = {0: "zlib", 1: "zstd"}


def probe(data: Reader) -> bool:
    """Return whether `data` begins with a compressed bundle."""
    return data.starts_with(MAGIC)


def parse(data: Reader) -> Iterator[Payload]:
    """Yield the device images of the compressed bundles in `data`.

    Raises FormatError at the first bundle that is malformed or has a wrong checksum.
    """
    start = count = 0
    while start < len(data):
        count += 1
        if count > clang_bundle.MAX_BUNDLES:
            raise LimitError(f"more than {count - 1} compressed bundles in a row at {data.at:#x}")
        rest = data.slice(start, len(data) - start, "compressed bundle")
        try:
            size, method, packed = head(rest)
        except NewerError as error:
            following = start + len(error.part)
            error.resume = data.at + following + clang_bundle.zeros(data, following)
            raise
        stored = rest.slice(0, size, "compressed bundle")
        start += size
        start += clang_bundle.zeros(data, start)
        try:
            for payload in clang_bundle.parse(inflated(rest, packed, method)):
                yield payload._replace(compression=method, stored=stored, unit=stored.at)
        except FormatError as error:
            error.resume = data.at + start
            raise


class Packed(NamedTuple):
    """The compressed part of a bundle, and its inflated size."""

    data: Reader
    size: int
    checksum: bytes


def head(data: Reader) -> tuple[int, str, Packed]:
    """Return the file size, compression method and contents of the first compressed bundle."""
    what = "compressed bundle"
    magic, version, number = data.unpack(HEAD, 0, f"{what} header")
    where = f"{what} at {data.at:#x}"
    if magic != MAGIC:
        raise FormatError(f"{where} has no magic")
    known = f"{where} has version {version}; versions 1 to {NEWEST} are read"
    if not version:
        raise FormatError(known)
    form = SIZES[min(version, NEWEST)]
    *size, whole_size, checksum = data.unpack(form, HEAD.size, f"{what} header")
    header = HEAD.size + form.size
    total = size[0] if size else len(data)
    if total < header:
        raise FormatError(f"{where}: size {total} is smaller than its header")
    whole = data.slice(0, total, what)
    packed = whole.slice(header, total - header, what)
    if version > NEWEST:
        raise NewerError(known, whole)
    if number not in METHODS:
        raise NewerError(f"{where} has the unknown compression method {number}", whole)
    return total, METHODS[number], Packed(packed, whole_size, checksum)


def inflated(data: Reader, packed: Packed, method: str) -> Reader:
    """Return the bundle. Raises FormatError when it does not have its checksum."""
    sum_of = Sum()
    bundle = inflate(packed.data, method, packed.size, "compressed bundle", seen=sum_of.add)
    if sum_of.of(bundle) != packed.checksum:
        where = f"compressed bundle at {data.at:#x}"
        raise FormatError(f"{where} does not have the checksum that its header gives")
    return bundle


def header(version: int, method: int, packed: int, bundle: int, checksum: bytes) -> bytes:
    """Return the header of a bundle of `bundle` bytes that are `packed` ones compressed."""
    form = SIZES[version]
    total = () if version == 1 else (HEAD.size + form.size + packed,)
    return HEAD.pack(MAGIC, version, method) + form.pack(*total, bundle, checksum)


class Sum:
    """MD5 of a bundle, computed from its inflated pieces so that it is read once."""

    def __init__(self) -> None:
        import hashlib

        self._digest = hashlib.md5(usedforsecurity=False)
        self._size = 0
        self._is_done = False

    def add(self, piece: bytes | memoryview) -> None:
        """Add a piece; ignored after the checksum, as a bundle may be inflated again."""
        if not self._is_done:
            self._digest.update(piece)
            self._size += len(piece)

    def of(self, data: Reader) -> bytes:
        """Return the sum. A bundle that is not inflated yet is read."""
        self._is_done = True
        if self._size != len(data):
            whole = Sum()
            for piece in data.pieces():
                whole.add(piece)
            return whole.of(data)
        return self.digest()

    def digest(self) -> bytes:
        """Return the sum of the pieces."""
        return self._digest.digest()[:8]
