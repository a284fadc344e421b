# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Find the tables of a linked file that register images with SYCL's runtime."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from packager.elf.address_space import Space
from packager.elf.headers import Elf
from packager.errors import FormatError
from packager.files.reader import Reader
from packager.formats.containers import llvm_offloading
from packager.formats.host_records.sycl_binaries import BinaryImage, FoundBinaries
from packager.hosts import tgtimg, told
from packager.model import DeviceImage, FatBinary
from packager.records import NamedTuple
from packager.slimming.containers.bundles import shares
from packager.slimming.keeps import is_processor
from packager.slimming.selection import Candidate
from packager.triples import code_of, is_known

LISTED = f".{tgtimg.NAME}"


class Row(NamedTuple):
    """A row of a table: its image, and the images in that."""

    start: int  # an address
    data: Reader
    images: tuple[Candidate, ...]


class Table(NamedTuple):
    """A table, by the address of its descriptor."""

    address: int
    records: int  # the address of its first record
    record_size: int
    rows: tuple[Row, ...]


def tables(space: Space) -> list[Table]:
    """Return SYCL's tables of a linked file by address."""
    if space.elf.is_object or not _is_sycl(space.elf):
        return []
    from packager.hosts.host import read_host  # imported late; readers of entries load slowly

    binaries = told.sycl(space).binaries
    host = read_host("", space.elf) if binaries else None
    return list(_tables(space, host[0], binaries)) if host else []


def _is_sycl(elf: Elf) -> bool:
    is_packed = any(s.is_allocated and llvm_offloading.claims(s) for s in elf.sections)
    return is_packed or bool(elf.named(LISTED))


def _tables(space: Space, binary: FatBinary, found: Sequence[FoundBinaries]) -> Iterator[Table]:
    placed = sorted((i.address, i.index) for i in binary.images if i.address is not None)
    for one in found:
        rows = []
        for row in one.images:
            # An uncompressed image begins inside the archive that holds it.
            first, last = bisect_left(placed, (row.start,)), bisect_left(placed, (row.end,))
            rows.append(_row(space, row, [binary.images[n] for _, n in placed[first:last]]))
        yield Table(one.address, one.records, one.record_size, tuple(rows))


def _row(space: Space, image: BinaryImage, inside: Sequence[DeviceImage]) -> Row:
    size = image.end - image.start
    offset = space.offset(image.start, size)
    if offset is None:
        raise FormatError(f"device image at {image.start:#x} is not in the file")
    data = space.elf.data.slice(offset, size, "device image")
    # The bytes of images compressed together are divided in proportion to their sizes.
    found = shares([candidate(one) for one in inside], size) if inside else (_unread(size),)
    return Row(image.start, data, found)


def _unread(size: int) -> Candidate:
    return Candidate("", "", "unknown", size, "no image was read in it")


def candidate(image: DeviceImage) -> Candidate:
    """Return an image of a table; an image for an unknown device is kept."""
    triple = image.triple or image.contents.machine or ""
    code, arch = code_of(triple), "" if image.kind == "spirv" else image.processor
    why = ""
    if not code or not is_known(triple):
        why = f"its triple {triple!r} is unknown"
    elif not is_processor(code, arch):
        why = "it names no processor"
    elif image.kind == "unknown":
        why = "it is of an unknown kind"
    return Candidate(code, arch, image.kind, image.size, why)
