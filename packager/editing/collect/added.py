# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The new parts of an edited file: images in their containers, and the records that list them."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import NamedTuple

from packager.editing.described import Form, Held
from packager.editing.parts import Address, Fixup, Kept, Part
from packager.editing.surgery import Surgery
from packager.elf.headers import WORD
from packager.files.copying import BLOCK
from packager.formats.containers import offload_binary
from packager.formats.host_records.descriptors import IMAGE_END, IMAGE_ENTRIES
from packager.layouts import PROPOSAL_IMAGE
from packager.writers.elf_types import SHF_ALLOC, SHF_WRITE, FilePart
from packager.writers.wrapper import ImageInput, offload_header

# Images of more bytes begin where the kernel copies them fastest.
LARGE = 1 << 20
RECORDS_SECTION = ".omptool.images"


class Bounds(NamedTuple):
    """The addresses at which an image or a table begins and ends."""

    begin: Address
    end: Address


def images(surgery: Surgery, wanted: Sequence[Held | ImageInput], form: Form) -> list[Bounds]:
    """Give each image a place: its own, or one in a new segment."""
    return [
        _held(surgery, image) if isinstance(image, Held) else _new(surgery, image, form)
        for image in wanted
    ]


def _held(surgery: Surgery, held: Held) -> Bounds:
    """An image of the file: it stays, unless its segment goes, or makes room for headers."""
    section = held.section
    if section is None or not surgery.file.dropped(section):
        return Bounds(Address(None, held.start), Address(None, held.end))
    inside = held.start - section.address - (held.offset - section.offset)
    size = held.end - held.start
    part = Part(
        section.name, (Kept(held.offset, held.size),), offload_binary.ALIGNMENT, flags=SHF_ALLOC,
        lead=-held.offset % BLOCK if size > LARGE else None,
    )  # fmt: skip
    surgery.rest.parts.append(part)
    return Bounds(part.at(inside), part.at(inside + size))


def _new(surgery: Surgery, image: ImageInput, form: Form) -> Bounds:
    head, padding = offload_header(image, form.version)
    size = len(head) + image.size + padding
    part = Part(
        image.section, (head, FilePart(image.path, 0, image.size), bytes(padding)),
        offload_binary.ALIGNMENT, flags=SHF_ALLOC, lead=len(head) if size > LARGE else None,
    )  # fmt: skip
    surgery.rest.parts.append(part)
    start, size = (0, size) if form.wraps else (len(head), image.size)
    return Bounds(part.at(start), part.at(start + size))


def records(surgery: Surgery, record: Struct, entries: Bounds, places: Sequence[Bounds]) -> Part:
    """The records that list images, for a descriptor with these bounds of its entries."""
    fields: list[tuple[int, Address]] = []
    for number, place in enumerate(places):
        at = number * record.size
        fields += [(at, place.begin), (at + IMAGE_END, place.end)]
        if record is not PROPOSAL_IMAGE:
            fields += [(at + IMAGE_ENTRIES, entries.begin)]
            fields += [(at + IMAGE_ENTRIES + WORD.size, entries.end)]
    return Part(
        RECORDS_SECTION, (bytes(record.size),) * len(places), WORD.size,
        flags=SHF_ALLOC | (SHF_WRITE if surgery.file.is_relocated else 0),
        fixups=tuple(Fixup(at, target) for at, target in fields),
    )  # fmt: skip
