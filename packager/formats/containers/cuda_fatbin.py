# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CUDA fat binaries: fatbins end to end, each a header and entries of PTX, cubins or NVVM code.

The layout is not documented; it was read off nvcc's, fatbinary's and clang's output. A group
(`nvcc --concat`, CUDA 13.5) is an entry whose images are compressed as one, end to end. Its header
is followed by their count, the size of the table, and their own headers.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import TYPE_CHECKING

from packager.elf.headers import Section
from packager.errors import FormatError, LimitError, PackagerError
from packager.files.reader import NewerError, Reader
from packager.formats.containers.bundles.clang_bundle import zeros
from packager.formats.containers.payload import Payload
from packager.model import Contents, ImageKind
from packager.records import NamedTuple

if TYPE_CHECKING:
    from packager.formats.compressed.images import Begun

NAME = "cuda-fatbin"
MAGIC = b"\x50\xed\x55\xba"
SECTIONS = (".nv_fatbin", "__nv_relfatbin")
HEADER = Struct("<4sHHQ")  # magic, version, header size, size of the entries
# kind, version, header size, stored size, compressed size, options, minor, major, arch
ENTRY = Struct("<HHIQIIHHI")
TAIL = Struct("<QQQ")  # flags, hash, inflated size
TAIL_AT = 40
WITH_TAIL = Struct("<HHIQIIHHI8xQQQ")  # both at once: large libraries have ten thousand entries
SMALLEST = TABLE_AT = 64  # header of an entry, and where a group's table begins in its own
OPTIONAL = Struct("<I8xII")  # header's end: offset of options; offset and size of the name
OPTIONAL_AT = 20
OPTIONS = Struct("<II")  # offset and size of the options' text
TABLE = Struct("<II")  # group: count, and size of the table with these two
PTX, CUBIN, LTO, TILE_IR, GROUP = 1, 2, 8, 0x80, 0x100
KINDS: dict[int, ImageKind] = {PTX: "ptx", CUBIN: "cubin", LTO: "bitcode", TILE_IR: "tileir"}
LZ4, ZSTD = 0x2000, 0x8000
ARCH_SPECIFIC = 0x100000  # sm_90a and the like
FAMILY_SPECIFIC = 0x200000  # sm_100f and the like
MAX_FATBINS = 1 << 17  # the largest libraries have some thousand
PADDING = 8
ELF = Struct("<32xQQ6xHHHH2x")  # offsets of segments and sections; size and count of each
TRIPLE = "nvptx64-nvidia-cuda"


def probe(data: Reader) -> bool:
    """Return whether `data` begins with a fatbin."""
    return data.starts_with(MAGIC)


def parse(data: Reader) -> Iterator[Payload]:
    """Yield the images of the fatbins in `data`. Raises FormatError at the first malformed one."""
    for fatbin in _ahead(_fatbins(data)):
        try:
            yield from fatbin.payloads()
        except FormatError as error:
            error.resume = fatbin.end
            raise


class _Image(NamedTuple):
    """An image of a fatbin; one that is compressed is being inflated."""

    kind: ImageKind
    arch: str
    stored: Reader
    method: str | None = None
    begun: Begun | None = None
    newer: str | None = None  # why it is of a format that came after this omptool

    def payloads(self, unit: int) -> Iterator[Payload]:
        """Yield the image. Raises FormatError when it is damaged."""
        yield self.payload(self.begun.finished() if self.begun else _unaligned(self), unit)

    def payload(self, image: Reader, unit: int) -> Payload:
        """Return the yield of its inflated bytes."""
        is_lto = self.kind == KINDS[LTO]
        return Payload(
            _unpadded(image) if self.kind == KINDS[PTX] else image,
            TRIPLE,
            self.arch,
            self.kind,
            # NVIDIA's own container of bitcode; compressed ones are scrambled as well.
            Contents(self.kind, "nvptx64", self.arch, is_opaque=True, newer=self.newer)
            if is_lto or self.newer
            else None,
            self.method,
            self.stored if self.method else None,
            producer="cuda",
            unit=unit,
        )


class _Group(NamedTuple):
    """Images that are compressed as one, with the place of each in the inflated bytes."""

    images: list[tuple[_Image, int, int]]  # offset, size
    stored: Reader
    method: str | None
    inflated: int

    def payloads(self, unit: int) -> Iterator[Payload]:
        """Yield the images. Raises FormatError when the group is damaged."""
        what = "compressed group of CUDA images"
        whole = self.stored
        if self.method:
            from packager.formats.compressed.inflate import inflate

            whole = inflate(whole, self.method, self.inflated, what)
        for image, offset, size in self.images:
            stored = whole.slice(offset, size, "image of a CUDA group")
            found = _unaligned(image._replace(stored=stored))
            yield image.payload(found, unit)


class _Fatbin(NamedTuple):
    """A fatbin: its images, where it is, where the next one is, and why it has no more images."""

    images: list[_Image | _Group | PackagerError]
    unit: int
    end: int
    fault: FormatError | None

    def payloads(self) -> Iterator[Payload]:
        """Yield the images; raise the error of a malformed one after the others."""
        fault = None
        for image in self.images:
            try:
                if isinstance(image, PackagerError):
                    raise image
                yield from image.payloads(self.unit)
            except FormatError as error:
                fault = fault or error
        fault = self.fault or fault
        if fault:
            raise fault


def _ahead(fatbins: Iterator[_Fatbin]) -> Iterator[_Fatbin]:
    """Yield each when the images of the next one have been begun, which a second thread inflates.

    An error of the next one is raised behind it.
    """
    last = next(fatbins, None)
    while last:
        try:
            following = next(fatbins, None)
        except PackagerError:
            yield last
            raise
        yield last
        last = following


class Whole(NamedTuple):
    """A fatbin: all its bytes, the bytes of its entries, and its version."""

    data: Reader
    body: Reader
    version: int


class Entry(NamedTuple):
    """An entry of a fatbin."""

    data: Reader  # bytes, including the header
    header: int  # bytes
    kind: int
    packed: int  # bytes that are compressed; 0: the rest of the entry
    arch: str
    flags: int
    inflated: int

    @property
    def stored(self) -> Reader:
        """Return its bytes without the header."""
        size = len(self.data) - self.header
        return self.data.slice(self.header, size, f"image of the {self.where}")

    @property
    def where(self) -> str:
        """Return the entry's name in messages."""
        return f"fatbin entry at {self.data.at:#x}"


def whole(data: Reader, start: int = 0) -> Whole:
    """Return the fatbin at `start`. Raises FormatError if none is there."""
    magic, version, header, size = data.unpack(HEADER, start, "CUDA fatbin header")
    if magic != MAGIC or header < HEADER.size:
        where = f"CUDA fatbin at {data.at + start:#x}"
        if magic != MAGIC:
            raise FormatError(f"{where} has no magic")
        raise FormatError(f"{where}: header size {header} is too small")
    body = data.slice(start + header, size, "CUDA fatbin")
    return Whole(data.slice(start, header + size, "CUDA fatbin"), body, version)


def expect_known(fatbin: Whole, resume: int | None = None) -> None:
    """Raise NewerError for a fatbin of a later version."""
    if fatbin.version != 1:
        where = f"CUDA fatbin at {fatbin.data.at:#x}"
        message = f"{where} has version {fatbin.version}; only version 1 is read"
        raise NewerError(message, fatbin.data, resume)


def entries(body: Reader) -> Iterator[Entry]:
    """Yield the entries of one fatbin. Raises FormatError for an entry with an unknown end."""
    at = 0
    while at < len(body):
        head = body.unpack(WITH_TAIL, at, "fatbin entry")
        kind, _, header, size, packed, _, _, _, arch, flags, _, inflated = head
        if header < WITH_TAIL.size:
            where = f"fatbin entry at {body.at + at:#x}"
            raise FormatError(f"{where}: header size {header} is too small")
        if size > len(body) - at - header:
            where = f"fatbin entry at {body.at + at:#x}"
            body.slice(at + header, size, f"image of the {where}")  # raises if it is out of bounds
        data = body.slice(at, header + size, "fatbin entry")
        at += header + size
        yield Entry(data, header, kind, packed, _arch(arch, flags), flags, inflated)


def members(entry: Entry) -> list[tuple[ImageKind, str]]:
    """Return the kinds and architectures of the images in a group."""
    return [(image.kind, image.arch) for image, _, _ in _of_group(entry).images]


def _fatbins(data: Reader) -> Iterator[_Fatbin]:
    start = fatbins = 0
    while start < len(data):
        fatbins += 1
        if fatbins > MAX_FATBINS:
            raise LimitError(f"more than {MAX_FATBINS} CUDA fatbins in a row at {data.at:#x}")
        fatbin = whole(data, start)
        unit = data.at + start
        start += len(fatbin.data)
        start += zeros(data, start)
        expect_known(fatbin, data.at + start)
        images: list[_Image | _Group | PackagerError] = []
        fault = None
        try:
            for image in _images(fatbin.body):
                images.append(image)  # noqa: PERF402 - images before a fault are kept
        except FormatError as error:
            fault = error
        yield _Fatbin(images, unit, data.at + start, fault)


def _images(body: Reader) -> Iterator[_Image | _Group | PackagerError]:
    """Yield the images of one fatbin. Raises FormatError for an entry with an unknown end."""
    for entry in entries(body):
        try:
            if entry.kind == GROUP:
                yield _of_group(entry)
            elif entry.kind in KINDS:
                yield _image(entry)
            else:
                newer = f"{entry.where} has the unknown kind {entry.kind:#x}"
                yield _Image("unknown", entry.arch, entry.stored, newer=newer)
        except PackagerError as error:
            yield error


def payload(entry: Entry) -> Payload:
    """Return the image of an entry of a known kind, which is no group."""
    (image,) = _image(entry).payloads(entry.data.at)
    return image


def _of_group(entry: Entry) -> _Group:
    table = entry.data.slice(0, entry.header, entry.where)
    return _group(table, entry.stored, entry.packed, entry.flags, entry.inflated)


def _arch(arch: int, flags: int) -> str:
    suffix = "a" if flags & ARCH_SPECIFIC else "f" if flags & FAMILY_SPECIFIC else ""
    return f"sm_{arch}{suffix}"


def _image(entry: Entry) -> _Image:
    """Return the image of an entry, with its compression method."""
    kind, stored, method = KINDS[entry.kind], entry.stored, _method(entry.flags)
    if not method or kind == KINDS[LTO]:
        return _Image(kind, entry.arch, stored)
    from packager.formats.compressed.images import Begun  # slow to load, for compressed images only

    what = "compressed CUDA image"
    compressed = stored.slice(0, entry.packed or len(stored), what)
    begun = Begun(compressed, method, entry.inflated, what, is_text=kind == KINDS[PTX])
    return _Image(kind, entry.arch, stored, method, begun)


def _method(flags: int) -> str | None:
    return "lz4" if flags & LZ4 else "zstd" if flags & ZSTD else None


def _group(entry: Reader, stored: Reader, packed: int, flags: int, inflated: int) -> _Group:
    """Return the images of a group, whose header and table are `entry`.

    Raises FormatError if the table does not match them.
    """
    where = f"group of CUDA images at {entry.at:#x}"
    method = _method(flags)
    compressed = stored.slice(0, packed or len(stored), where) if method else stored
    size = inflated if method else len(stored)
    count, span = entry.unpack(TABLE, TABLE_AT, f"table of the {where}")
    table = entry.slice(TABLE_AT, span, f"table of the {where}")
    images: list[tuple[_Image, int, int]] = []
    end, at = 0, TABLE.size
    while len(images) < count:
        kind, _, offset, length, _, _, _, _, arch = table.unpack(ENTRY, at, where)
        (its_flags, _, _) = table.unpack(TAIL, at + TAIL_AT, where)
        at = _end_of_header(table, at)
        if offset < end or length > size - offset:
            raise FormatError(
                f"{where}: image at {offset:#x}..{offset + length:#x} is outside of "
                f"{end:#x}..{size:#x}"
            )
        end = offset + length
        newer = None if kind in KINDS else f"an image of the {where} has the unknown kind {kind:#x}"
        image = _Image(
            KINDS.get(kind, "unknown"), _arch(arch, its_flags), compressed, method, None, newer
        )
        images.append((image, offset, length))
    if at != span:
        raise FormatError(f"{where}: the headers of {count} images do not fill {span} bytes")
    return _Group(images, compressed, method, size)


def _end_of_header(table: Reader, at: int) -> int:
    """Return the end of an image's header in a group, which does not record its size.

    It may be followed by the source's name and the options of ptxas, each with a NUL.
    """
    what = "header in a CUDA group"
    options, name, length = table.unpack(OPTIONAL, at + OPTIONAL_AT, what)
    end = SMALLEST
    if name:
        end = max(end, name + length + 1)
    if options:
        place, size = table.unpack(OPTIONS, at + options, what)
        end = max(end, options + OPTIONS.size, place + size + 1)
    end = -(-end // PADDING) * PADDING
    table.slice(at, end, what)
    return at + end


def _unaligned(image: _Image) -> Reader:
    """Return the bytes of an image that is not compressed.

    A cubin ends at its headers. Fatbins add zero bytes up to the next multiple of 8.
    """
    data = image.stored
    if image.kind != KINDS[CUBIN] or len(data) < ELF.size:
        return data
    segments, sections, size, count, section, number = data.unpack(ELF, 0, "cubin")
    end = max(segments + size * count, sections + section * number)
    if not 0 < len(data) - end < PADDING or data.bytes(end, len(data) - end, "cubin").strip(b"\0"):
        return data
    return data.slice(0, end, "cubin")


def _unpadded(text: Reader) -> Reader:
    """Return PTX without trailing zero bytes, which compilers reject."""
    tail = min(PADDING, len(text))
    end = text.bytes(len(text) - tail, tail, "PTX")
    return text.slice(0, len(text) - tail + len(end.rstrip(b"\0")), "PTX")


def claims(section: Section) -> bool:
    """Return whether a section holds fat binaries."""
    return section.name in SECTIONS


def parse_section(_: Section, data: Reader) -> Iterator[Payload]:
    """Yield the images of a section. Raises FormatError if it is malformed."""
    return parse(data)
