"""The code of an object's kernels, by which objects of one program are compared: its digests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from packager.errors import FormatError
from packager.files.reader import Reader
from packager.model import FatBinary, KernelCode

MAX_CODE = 1 << 24


def digests(binary: FatBinary, data: Sequence[Reader]) -> Iterator[KernelCode]:
    """Yield the digest of each kernel's code.

    `data` is the bytes of the images. Images that the linker does not join have none: each of
    CUDA's or HIP's objects has its own. Nor has code that cannot be read, as it equals none.
    """
    from xxhash import xxh3_128_digest

    joined = {index for table in binary.tables for index in table.images}
    for image, bytes_of in zip(binary.images, data, strict=True):
        if image.index not in joined or image.compression is not None:
            continue
        for symbol in image.symbols:
            if symbol.code is None or symbol.code[1] > MAX_CODE:
                continue
            offset, size = symbol.code
            try:
                code = bytes_of.bytes(offset - bytes_of.at, size, "code of a kernel")
            except FormatError:
                continue
            yield KernelCode(image.index, symbol.name, xxh3_128_digest(code))
