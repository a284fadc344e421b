# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CUDA fat binaries: fatbins end to end, each a header and entries of PTX, cubins or NVVM code.

The layout is not documented; it was read off nvcc's, fatbinary's and clang's output.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct

from packager.elf.headers import Section
from packager.errors import FormatError, LimitError, PackagerError
from packager.files.images import Begun
from packager.files.reader import Reader
from packager.formats.containers.clang_bundle import zeros
from packager.formats.containers.payload import Payload
from packager.model import Contents, ImageKind
from packager.records import NamedTuple

NAME = "cuda-fatbin"
MAGIC = b"\x50\xed\x55\xba"
SECTIONS = (".nv_fatbin", "__nv_relfatbin")
HEADER = Struct("<4sHHQ")  # magic, version, header size, size of the entries
# kind, version, header size, stored size, compressed size, options, minor, major, arch
ENTRY = Struct("<HHIQIIHHI")
TAIL = Struct("<QQQ")  # flags, hash, inflated size
TAIL_AT = 40
PTX, CUBIN, LTO = 1, 2, 8
KINDS: dict[int, ImageKind] = {PTX: "ptx", CUBIN: "cubin", LTO: "bitcode"}
LZ4, ZSTD = 0x2000, 0x8000
ARCH_SPECIFIC = 0x100000  # sm_90a and the like
FAMILY_SPECIFIC = 0x200000  # sm_100f and the like
MAX_FATBINS = 1 << 17  # the largest libraries have some thousand
PADDING = 8
TRIPLE = "nvptx64-nvidia-cuda"


def probe(data: Reader) -> bool:
    """Return whether `data` begins with a fatbin."""
    return data.starts_with(MAGIC)


def parse(data: Reader) -> Iterator[Payload]:
    """The images of the fatbins in `data`. Raises FormatError at the first malformed one."""
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
    method: str | None
    begun: Begun | None

    def payload(self, unit: int) -> Payload:
        """Return its yield. Raises FormatError when it is damaged."""
        image = self.begun.finished() if self.begun else self.stored
        is_lto = self.kind == KINDS[LTO]
        return Payload(
            _unpadded(image) if self.kind == KINDS[PTX] else image,
            TRIPLE,
            self.arch,
            self.kind,
            # NVIDIA's own container of bitcode; compressed ones are scrambled, too.
            Contents("bitcode", "nvptx64", self.arch, is_opaque=True) if is_lto else None,
            self.method,
            self.stored if self.method else None,
            producer="cuda",
            unit=unit,
        )


class _Fatbin(NamedTuple):
    """A fatbin: its images, where it is, where the next one is, and why it has no more images."""

    images: list[_Image | PackagerError]
    unit: int
    end: int
    fault: FormatError | None

    def payloads(self) -> Iterator[Payload]:
        """The images; a malformed one is raised when those behind it have been read."""
        fault = None
        for image in self.images:
            try:
                if isinstance(image, PackagerError):
                    raise image
                yield image.payload(self.unit)
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


def _fatbins(data: Reader) -> Iterator[_Fatbin]:
    start = fatbins = 0
    while start < len(data):
        fatbins += 1
        if fatbins > MAX_FATBINS:
            raise LimitError(f"more than {MAX_FATBINS} CUDA fatbins in a row at {data.at:#x}")
        magic, version, header, size = data.unpack(HEADER, start, "CUDA fatbin header")
        where = f"CUDA fatbin at {data.at + start:#x}"
        if magic != MAGIC:
            raise FormatError(f"{where} has no magic")
        if version != 1:
            raise FormatError(f"{where} has version {version}; only version 1 is read")
        if header < HEADER.size:
            raise FormatError(f"{where}: header size {header} is too small")
        body = data.slice(start + header, size, "CUDA fatbin")
        unit = data.at + start
        start += header + size
        start += zeros(data, start)
        images: list[_Image | PackagerError] = []
        fault = None
        try:
            for image in _images(body):
                images.append(image)  # which keeps those before a fault
        except FormatError as error:
            fault = error
        yield _Fatbin(images, unit, data.at + start, fault)


def _images(body: Reader) -> Iterator[_Image | PackagerError]:
    """The images of one fatbin. Raises FormatError for an entry whose end is not known."""
    at = 0
    while at < len(body):
        kind, _, header, size, packed, _, _, _, arch = body.unpack(ENTRY, at, "fatbin entry")
        where = f"fatbin entry at {body.at + at:#x}"
        if header < TAIL_AT + TAIL.size:
            raise FormatError(f"{where}: header size {header} is too small")
        flags, _, inflated = body.unpack(TAIL, at + TAIL_AT, "fatbin entry")
        stored = body.slice(at + header, size, f"image of the {where}")
        at += header + size
        try:
            if kind not in KINDS:
                raise FormatError(f"{where} has the unknown kind {kind}")
            yield _image(KINDS[kind], _arch(arch, flags), stored, packed, flags, inflated)
        except PackagerError as error:
            yield error


def _arch(arch: int, flags: int) -> str:
    suffix = "a" if flags & ARCH_SPECIFIC else "f" if flags & FAMILY_SPECIFIC else ""
    return f"sm_{arch}{suffix}"


def _image(
    kind: ImageKind, arch: str, stored: Reader, packed: int, flags: int, size: int
) -> _Image:
    """An image, with how it is compressed."""
    method = "lz4" if flags & LZ4 else "zstd" if flags & ZSTD else None
    if not method or kind == KINDS[LTO]:
        return _Image(kind, arch, stored, None, None)
    what = "compressed CUDA image"
    compressed = stored.slice(0, packed or len(stored), what)
    begun = Begun(compressed, method, size, what, is_text=kind == KINDS[PTX])
    return _Image(kind, arch, stored, method, begun)


def _unpadded(text: Reader) -> Reader:
    """PTX without the zero bytes at its end, which compilers do not take."""
    tail = min(PADDING, len(text))
    end = text.bytes(len(text) - tail, tail, "PTX")
    return text.slice(0, len(text) - tail + len(end.rstrip(b"\0")), "PTX")


def claims(section: Section) -> bool:
    """Return whether a section holds fat binaries."""
    return section.name in SECTIONS


def parse_section(_: Section, data: Reader) -> Iterator[Payload]:
    """The images of a section. Raises FormatError when it is malformed."""
    return parse(data)
