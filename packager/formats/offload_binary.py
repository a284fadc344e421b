"""LLVM OffloadBinary v1: blobs end to end, each a header, one entry, its strings and its image."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from struct import Struct

from packager.errors import FormatError
from packager.reader import Reader

MAGIC = b"\x10\xff\x10\xad"
ALIGNMENT = 8
HEADER = Struct("<4sIQQQ")  # magic, version, size, entry offset, entry size
ENTRY = Struct("<HHIQQQQ")  # image kind, offload kind, flags, strings at, count, image at, size
STRING = Struct("<QQ")  # key and value, both from the start of the blob
MAX_STRINGS = 1024
KIND_OPENMP = 1
IMAGE_KINDS = {0: "none", 1: "elf", 2: "bitcode", 3: "cubin", 4: "fatbin", 5: "ptx", 6: "spirv"}


@dataclass(frozen=True)
class Blob:
    """One OffloadBinary: what it says of its image, and where the image is."""

    image_kind: int
    offload_kind: int
    strings: dict[str, str]
    image: Reader


def probe(data: Reader) -> bool:
    """Whether `data` begins with an OffloadBinary."""
    return data.starts_with(MAGIC)


def parse(data: Reader) -> Iterator[Blob]:
    """Every blob of a section or file. Raises FormatError at the first malformed one."""
    offset = 0
    while offset < len(data):
        magic, version, size, entry, _ = data.unpack(HEADER, offset, "OffloadBinary header")
        where = f"OffloadBinary at {data.at + offset:#x}"
        if magic != MAGIC:
            raise FormatError(f"{where} has no magic")
        if version != 1:
            raise FormatError(f"{where} has version {version}; only version 1 is read")
        if size < HEADER.size:  # a size of 0 would never end this loop
            raise FormatError(f"{where}: size {size} is smaller than its header")
        yield _blob(data.slice(offset, size, "OffloadBinary"), entry)
        offset += -(-size // ALIGNMENT) * ALIGNMENT


def _blob(data: Reader, entry_offset: int) -> Blob:
    kind, offload, _, strings_at, count, image_at, image_size = data.unpack(
        ENTRY, entry_offset, "OffloadBinary entry"
    )
    if count > MAX_STRINGS:
        raise FormatError(f"OffloadBinary at {data.at:#x} claims {count} strings")
    table = data.slice(strings_at, count * STRING.size, "OffloadBinary string table")
    strings = {}
    for key, value in STRING.iter_unpack(table.bytes()):
        strings[data.string(key, "OffloadBinary key")] = data.string(value, "OffloadBinary value")
    image = data.slice(image_at, image_size, "device image")
    return Blob(kind, offload, strings, image)


def header(image_kind: int, triple: str, arch: str, image_size: int) -> tuple[bytes, int]:
    """The bytes that precede an image of `image_size` bytes, and how many zero bytes follow it.

    The caller writes header, image, padding: the image itself is never held in memory.
    """
    pool = b"\0"
    offsets = []
    strings_at = HEADER.size + ENTRY.size
    strings = {"triple": triple, "arch": arch}
    pool_at = strings_at + len(strings) * STRING.size
    for text in (text for pair in strings.items() for text in pair):
        offsets.append(pool_at + len(pool) if text else pool_at)  # "" is the pool's first NUL
        pool += text.encode() + b"\0" if text else b""
    image_at = -(-(pool_at + len(pool)) // ALIGNMENT) * ALIGNMENT
    end = image_at + image_size
    padding = -end % ALIGNMENT
    head = HEADER.pack(MAGIC, 1, end + padding, HEADER.size, ENTRY.size)
    head += ENTRY.pack(image_kind, KIND_OPENMP, 0, strings_at, len(strings), image_at, image_size)
    head += STRING.pack(*offsets[:2]) + STRING.pack(*offsets[2:]) + pool
    return head.ljust(image_at, b"\0"), padding
