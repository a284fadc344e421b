# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Host files of Windows: the device images in their sections. Entries and descriptors are not read.

LLVM's tools go by the names of sections, for COFF has no types of them; linkers cut long names off.
"""

from __future__ import annotations

from collections.abc import Iterator

from packager.elf.headers import Section
from packager.errors import FormatError
from packager.files.reader import Reader
from packager.formats.containers import (
    cuda_fatbin,
    known,
    kpack,
    llvm_offloading,
    nested,
    offload_binary,
)
from packager.formats.containers.payload import Damage, Payload
from packager.formats.device_images import known as images
from packager.hosts import kpack_archives, tgtimg
from packager.hosts.images import payloads
from packager.hosts.limits import Limits
from packager.hosts.unread import coff_traces
from packager.hosts.windows import coff_headers
from packager.model import DeviceImage, FatBinary

NAMES = (llvm_offloading.NAMES[0], *cuda_fatbin.SECTIONS, ".hip_fatbin")
# Section names in linked files: most linkers keep eight characters, lld the text before the second
# dot.
CUT_BY_LLD = ".llvm"
WHOLE = {CUT_BY_LLD: NAMES[0]} | {name[: coff_headers.NAME]: name for name in NAMES}

probe = coff_headers.probe


def read_host(path: str, data: Reader) -> tuple[FatBinary, list[Reader]]:
    """Read the offload code of a host file, and the bytes of its images in order.

    Raises FormatError if it is malformed.
    """
    headers = coff_headers.read(data)
    found: list[DeviceImage] = []
    parts: list[Reader] = []
    faults: list[str] = []
    limits = Limits()
    with limits.noted():
        for section, name, item in _items(data, headers):
            if isinstance(item, Damage):
                faults.append(f"section {section.name}: {item.message}")
                continue
            inside = (item.stored or item.image).at - data.at - section.offset
            address = None if headers.type == "object" else section.address + inside
            found.append(images.from_payload(item, len(found), name, address))
            parts.append(item.image)
    archives = kpack_archives.of_sections(path, _references(data, headers))
    binary = FatBinary(
        path=path,
        machine=headers.machine,
        type=headers.type,
        abi=None,
        images=tuple(found),
        tables=(),
        descriptors=(),
        unread=tuple(coff_traces(headers.sections, has_images=bool(found or archives.found))),
        faults=(*faults, *archives.faults),
        archives=archives.found,
        newer=archives.newer,
        limits=limits.met,
    )
    return binary, parts


def _references(data: Reader, headers: coff_headers.Coff) -> Iterator[Reader]:
    """Yield the sections that name archives of kernels."""
    for section in headers.sections:
        if section.name == kpack.SECTION_OF_COFF:
            yield data.slice(section.offset, section.size, f"section {section.name}")


def _items(
    data: Reader, headers: coff_headers.Coff
) -> Iterator[tuple[Section, str, Payload | Damage]]:
    for short in headers.sections:
        section = short._replace(name=WHOLE.get(short.name, short.name))
        container = known.of_section(section) if section.size else None
        if container is None:
            continue
        try:
            content = data.slice(section.offset, section.size, f"section {section.name}")
        except FormatError as error:
            yield section, container.NAME, Damage(str(error))
            continue
        if short.name == CUT_BY_LLD and not offload_binary.probe(content):
            continue
        for item in payloads(section, content, container):
            yield section, container.NAME, item
    yield from _listed(data, headers)


def _listed(
    data: Reader, headers: coff_headers.Coff
) -> Iterator[tuple[Section, str, Payload | Damage]]:
    """Yield the images of Intel's compilers, of which a linked file has a list of addresses.

    Linkers cut off the targets that the names of their sections end with.
    """
    lists = [section for section in headers.sections if section.name == f".{tgtimg.NAME}"]
    for section in lists if headers.type != "object" else ():
        try:
            table = data.slice(section.offset, section.size, f"section {section.name}")
            pairs = tgtimg.pairs(table)
        except FormatError as error:
            yield section, tgtimg.NAME, Damage(str(error))
            continue
        for start, size in pairs:
            try:
                place, image = _image(data, headers, start, size)
            except FormatError as error:
                yield section, tgtimg.NAME, Damage(str(error))
                continue
            for item in nested.opened(Payload(image, producer="sycl")):
                yield place, tgtimg.NAME, item


def _image(
    data: Reader, headers: coff_headers.Coff, start: int, size: int
) -> tuple[Section, Reader]:
    """Return an image by its address, and the section that holds it."""
    for section in headers.sections:
        inside = start - section.address
        if 0 <= inside < section.size:
            rest = data.slice(section.offset, section.size, f"section {section.name}")
            rest = rest.slice(inside, section.size - inside, "device image")
            return section, rest.slice(0, tgtimg.stored(rest, size), "device image")
    raise FormatError(f"device image of {size} bytes at {start:#x} is not in the file")
