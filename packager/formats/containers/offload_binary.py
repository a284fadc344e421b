# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LLVM's OffloadBinary: blobs end to end, each a header, entries, their strings and images.

Version 1 (LLVM 15 to 22) has one entry. Version 2 (LLVM 23) has several, and strings with a size;
its images follow each other without padding. Version 3 (LLVM 24) may compress all that follows its
header, and may have entries without image.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from struct import Struct

from packager.errors import FormatError
from packager.files.names import text
from packager.files.reader import NewerError, Reader
from packager.formats.compressed.inflate import inflate, is_zstd
from packager.formats.containers.payload import Payload
from packager.model import ImageKind, Model, Place
from packager.records import NamedTuple

NAME = "offload-binary"
MAGIC = b"\x10\xff\x10\xad"
ALIGNMENT = 8
# magic, version, size, offset of the entries, then in version 1 the entry's size and later their
# count
HEADER = Struct("<4sIQQQ")
INFLATED = Struct("<Q")  # follows it in version 3; 0: nothing is compressed
ENTRY = Struct("<HHIQQQQ")  # image kind, offload kind, flags, strings at, count, image at, size
STRING = Struct("<QQ")  # key and value, both from the start of the blob
SIZED_STRING = Struct("<QQQ")  # adds the value's size
NEWEST = 3
METADATA_ONLY = 0x1  # a flag of entries since version 3
MAX_STRINGS = 1024
MAX_VALUE = 1 << 16
MAX_HEADER = 1 << 12  # largest header before an image, including strings
MAX_MAGICS = 16  # most magics in these bytes; only one is real
KIND_OPENMP = 1
# Programming models by LLVM's number: LLVM 19 counts (HIP is 3), LLVM 22 uses bits (HIP is 4).
PRODUCERS: dict[int, Model] = {1: "openmp", 2: "cuda", 3: "hip", 4: "hip", 8: "sycl"}
IMAGE_KINDS = {0: "none", 1: "elf", 2: "bitcode", 3: "cubin", 4: "fatbin", 5: "ptx", 6: "spirv"}
# Kinds of images by LLVM's number; "none" declares nothing.
DECLARED: dict[int, ImageKind] = {
    1: "elf", 2: "bitcode", 3: "cubin", 4: "fatbin", 5: "ptx", 6: "spirv",
}  # fmt: skip


class Blob(NamedTuple):
    """One entry of an OffloadBinary: its strings and its image."""

    image_kind: int
    offload_kind: int
    strings: dict[str, str]
    image: Reader
    version: int
    has_image: bool = True
    stored: Reader | None = None  # a compressed blob's bytes in the file
    compression: str | None = None
    place: Place | None = None  # the blob's place in the file, if it has one entry
    flags: int = 0

    def payload(self, unit: int | None = None) -> Payload:
        """Return the blob as a payload; `unit` is the offset of the first blob around it."""
        return Payload(
            self.image,
            self.strings.get("triple", ""),
            self.strings.get("arch", ""),
            declared_kind=DECLARED.get(self.image_kind),
            features=self.strings.get("feature", ""),
            compression=self.compression,
            stored=self.stored,
            producer=PRODUCERS.get(self.offload_kind),
            unit=unit,
            version=self.version,
            place=self.place,
        )


def probe(data: Reader) -> bool:
    """Return whether `data` begins with an OffloadBinary."""
    return data.starts_with(MAGIC)


def parse(data: Reader) -> Iterator[Payload]:
    """Yield the images of every blob of a section or file.

    Raises FormatError at the first malformed one.
    """
    return (blob.payload(data.at) for blob in blobs(data))


def blobs(data: Reader) -> Iterator[Blob]:
    """Yield every entry of every blob. Raises FormatError at the first malformed one."""
    for blob in binaries(data):
        try:
            yield from of_binary(blob)
        except FormatError as error:
            error.resume = blob.end
            raise


class Binary(NamedTuple):
    """An OffloadBinary: its bytes, and where the next one begins in the file."""

    data: Reader
    version: int
    entries_at: int
    entries: int  # their number, since version 2
    end: int


def binaries(data: Reader) -> Iterator[Binary]:
    """Yield the OffloadBinaries of a section or file.

    Raises FormatError at the first malformed one.
    """
    offset = 0
    while offset < len(data):
        magic, version, size, entries, count = data.unpack(HEADER, offset, "OffloadBinary header")
        where = f"OffloadBinary at {data.at + offset:#x}"
        if magic != MAGIC:
            raise FormatError(f"{where} has no magic")
        read = f"{where} has version {version}; versions 1 to {NEWEST} are read"
        if not version:
            raise FormatError(read, _next(data, offset, size))
        if size < HEADER.size:  # a size of 0 would never end this loop
            raise FormatError(f"{where}: size {size} is smaller than its header")
        blob = data.slice(offset, size, "OffloadBinary")
        offset += -(-size // ALIGNMENT) * ALIGNMENT
        if version > NEWEST:
            raise NewerError(f"{read}: a newer LLVM wrote it", blob, data.at + offset, version)
        yield Binary(blob, version, entries, count, data.at + offset)


def of_binary(binary: Binary) -> Iterator[Blob]:
    """Yield the entries of an OffloadBinary. Raises FormatError at the first malformed one."""
    blob, version, at = binary.data, binary.version, binary.entries_at
    if version == 1:
        yield _entry(blob, at, version, Place(blob.at, len(blob)))
    else:
        yield from _entries(blob, version, at, binary.entries)


def around(file: Reader, start: int, size: int) -> Payload | None:
    """Return the payload of the OffloadBinary at file offset `start`, or around an image there.

    Clang registers one or the other. Return None if no such container is there.
    """
    whole = file.slice(start, size, "device image")
    if probe(whole):
        return _first(whole)
    before = file.bytes(max(0, start - MAX_HEADER), min(start, MAX_HEADER), "OffloadBinary")
    at = before.rfind(MAGIC)
    for _ in range(MAX_MAGICS):
        if at < 0:
            break
        place = start - len(before) + at
        try:
            padded = min(start + size + ALIGNMENT - 1, len(file)) - place
            for blob in blobs(file.slice(place, padded, "OffloadBinary")):
                if blob.image.at == whole.at and len(blob.image) == size:
                    return blob.payload()
        except FormatError:
            pass  # bytes that look like the magic
        at = before.rfind(MAGIC, 0, at)
    return None


def _first(data: Reader) -> Payload | None:
    try:
        blob = next(blobs(data), None)
    except FormatError:
        return None  # whoever opens the container says what is wrong with it
    return blob.payload() if blob else None


def _next(data: Reader, offset: int, size: int) -> int | None:
    """Return where the blob behind one of an unknown version begins, if its size is in place."""
    following = offset + -(-size // ALIGNMENT) * ALIGNMENT
    if size < HEADER.size or following >= len(data):
        return None
    is_next = probe(data.slice(following, len(data) - following, "OffloadBinary"))
    return data.at + following if is_next else None


def _entries(blob: Reader, version: int, at: int, count: int) -> Iterator[Blob]:
    """Yield the entries of a blob of version 2 or 3."""
    inflated = blob.unpack(INFLATED, HEADER.size, "OffloadBinary header")[0] if version > 2 else 0
    place = Place(blob.at, len(blob)) if count == 1 else None
    stored, method = None, None
    if inflated:
        stored, (blob, method) = blob, _inflated(blob, at, inflated)
    if count > len(blob) // ENTRY.size:
        raise FormatError(f"OffloadBinary at {blob.at:#x} claims {count} entries")
    fault = None
    places: list[tuple[int, int, int]] = []
    for number in range(count):
        try:
            entry = _entry(blob, at + number * ENTRY.size, version, place)
        except FormatError as error:  # the other entries are no worse
            fault = fault or error
            continue
        if entry.has_image:
            places.append((entry.image.at, len(entry.image), number))
            yield entry._replace(stored=stored, compression=method)
    if fault is None:
        _expect_apart(blob, places)
        return
    raise fault


def _expect_apart(blob: Reader, places: list[tuple[int, int, int]]) -> None:
    """Raise FormatError if the images of two entries, each (begin, size, number), overlap."""
    for (begin, size, one), (following, _, other) in pairwise(sorted(p for p in places if p[1])):
        if following < begin + size:
            what = f"the images of entries {min(one, other)} and {max(one, other)} overlap"
            raise FormatError(f"OffloadBinary at {blob.at:#x}: {what}")


def _inflated(blob: Reader, at: int, size: int) -> tuple[Reader, str]:
    """Return the inflated blob with its header, and the compression method."""
    if size < at or at < HEADER.size + INFLATED.size:
        raise FormatError(f"OffloadBinary at {blob.at:#x} claims to inflate to {size} bytes")
    packed = blob.slice(at, len(blob) - at, "compressed OffloadBinary")
    method = "zstd" if is_zstd(packed) else "zlib"
    head = blob.bytes(0, at, "OffloadBinary header")
    return inflate(packed, method, size, "compressed OffloadBinary", head=head), method


def _entry(blob: Reader, at: int, version: int, place: Place | None) -> Blob:
    layout = STRING if version == 1 else SIZED_STRING
    kind, offload, flags, strings_at, count, image_at, image_size = blob.unpack(
        ENTRY, at, "OffloadBinary entry"
    )
    if count > MAX_STRINGS:
        raise FormatError(f"OffloadBinary at {blob.at:#x} claims {count} strings")
    table = blob.slice(strings_at, count * layout.size, "OffloadBinary string table")
    strings = {}
    for key, value, *size in layout.iter_unpack(table.bytes()):
        name = blob.string(key, "OffloadBinary key")
        strings[name] = (
            text(blob.bytes(value, min(size[0], MAX_VALUE), "OffloadBinary value"))
            if size
            else blob.string(value, "OffloadBinary value")
        )
    has_image = not (version > 2 and flags & METADATA_ONLY)
    image = blob.slice(image_at, image_size if has_image else 0, "device image")
    return Blob(kind, offload, strings, image, version, has_image, place=place, flags=flags)


def image_kind(kind: str) -> int:
    """Return the number of an image kind; ELF images without a number of their own are objects."""
    numbers = {name: number for number, name in IMAGE_KINDS.items()}
    return numbers.get("elf" if kind in ("amdgcn", "zebin") else kind, 0)


class Item(NamedTuple):
    """An image to pack, with its kinds and its strings."""

    image_kind: int
    strings: Mapping[str, str]
    image_size: int
    offload_kind: int = KIND_OPENMP


def header(items: Sequence[Item], version: int) -> tuple[bytes, int]:
    """Return the bytes that precede images, and the number of zero bytes that follow them.

    The caller writes header, images and padding, so no image is in memory. The bytes equal those of
    LLVM's packagers except for the order of keys. Version 1 holds one image.
    """
    string = STRING if version == 1 else SIZED_STRING
    inflated = INFLATED.pack(0) if version > 2 else b""
    entries_at = HEADER.size + len(inflated)
    strings_at = entries_at + len(items) * ENTRY.size
    pool_at = strings_at + sum(len(item.strings) for item in items) * string.size
    words = [word for item in items for pair in item.strings.items() for word in pair]
    pool, offsets = _string_table(words)
    image_at = -(-(pool_at + len(pool)) // ALIGNMENT) * ALIGNMENT
    end = image_at + sum(item.image_size for item in items)
    padding = -end % ALIGNMENT
    third = ENTRY.size if version == 1 else len(items)
    head = HEADER.pack(MAGIC, version, end + padding, entries_at, third) + inflated
    pairs, at = b"", image_at
    for item in items:
        head += ENTRY.pack(
            item.image_kind, item.offload_kind, 0, strings_at + len(pairs), len(item.strings),
            at, item.image_size,
        )  # fmt: skip
        at += item.image_size
        for key, value in item.strings.items():
            size = () if version == 1 else (len(_spelled(value)),)
            pairs += string.pack(pool_at + offsets[key], pool_at + offsets[value], *size)
    return (head + pairs + pool).ljust(image_at, b"\0"), padding


def compressed_head(version: int, packed: int, inflated: int, count: int) -> bytes:
    """Return the header of a binary with `packed` bytes of compressed data."""
    entries_at = HEADER.size + INFLATED.size
    head = HEADER.pack(MAGIC, version, entries_at + packed, entries_at, count)
    return head + INFLATED.pack(inflated)


def _spelled(word: str) -> bytes:
    return word.encode("utf-8", "surrogateescape")


def _string_table(words: Sequence[str]) -> tuple[bytes, dict[str, int]]:
    """Build a string table like LLVM's StringTableBuilder for ELF, which merges common suffixes."""
    pool = b"\0"
    offsets: dict[str, int] = {}
    previous = b""
    spelled = {word: _spelled(word) for word in words}
    for word in sorted(spelled, key=lambda word: spelled[word][::-1], reverse=True):
        text = spelled[word]
        if not previous.endswith(text):
            pool += text + b"\0"
            previous = text
        offsets[word] = len(pool) - len(text) - 1 if text else 0
    return pool, offsets
