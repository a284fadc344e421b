# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The new parts of an edited file: images in their containers, and the records that list them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import Struct
from typing import NamedTuple

from packager.editing.described import Form, Held
from packager.editing.parts import Kept, Part
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
Bounds = tuple[Callable[[], int], Callable[[], int]]  # of the entries


class Place(NamedTuple):
    """The place of an image, once all parts have their addresses."""

    start: Callable[[], int]
    end: Callable[[], int]


def images(surgery: Surgery, wanted: Sequence[Held | ImageInput], form: Form) -> list[Place]:
    """Give each image a place: its own, or one in a new segment."""
    return [
        _held(surgery, image) if isinstance(image, Held) else _new(surgery, image, form)
        for image in wanted
    ]


def _held(surgery: Surgery, held: Held) -> Place:
    """An image of the file: it stays, unless its segment goes, or makes room for headers."""
    section = held.section
    if section is None or not surgery.file.dropped(section):
        return Place(lambda: held.start, lambda: held.end)
    part = Part(
        section.name, held.size, offload_binary.ALIGNMENT,
        lambda: [Kept(held.offset, held.size)], flags=SHF_ALLOC,
    )  # fmt: skip
    surgery.rest.parts.append(part)
    inside = held.start - section.address - (held.offset - section.offset)
    size = held.end - held.start
    if size > LARGE:
        part.lead = -held.offset % BLOCK
    return _placed(part, inside, size)


def _new(surgery: Surgery, image: ImageInput, form: Form) -> Place:
    head, padding = offload_header(image, form.version)
    size = len(head) + image.size + padding
    part = Part(
        image.section, size, offload_binary.ALIGNMENT,
        lambda: [head, FilePart(image.path, 0, image.size), bytes(padding)], flags=SHF_ALLOC,
    )  # fmt: skip
    if size > LARGE:
        part.lead = len(head)
    surgery.rest.parts.append(part)
    return _placed(part, 0, size) if form.wraps else _placed(part, len(head), image.size)


def _placed(part: Part, inside: int, size: int) -> Place:
    return Place(lambda: part.address + inside, lambda: part.address + inside + size)


def records(surgery: Surgery, record: Struct, entries: Bounds, places: Sequence[Place]) -> Part:
    """The records that list images, for a descriptor with these bounds of its entries."""
    begin, end = entries

    def content() -> list[bytes]:
        bounds = () if record is PROPOSAL_IMAGE else (begin(), end())
        return [record.pack(place.start(), place.end(), *bounds) for place in places]

    part = Part(
        RECORDS_SECTION, len(places) * record.size, WORD.size, lambda: list(content()),
        flags=SHF_ALLOC | (SHF_WRITE if surgery.file.is_relocated else 0),
    )  # fmt: skip
    for number, place in enumerate(places):
        at = number * record.size
        surgery.pointer(part, at, place.start)
        surgery.pointer(part, at + IMAGE_END, place.end)
        if record is not PROPOSAL_IMAGE:
            surgery.pointer(part, at + IMAGE_ENTRIES, begin)
            surgery.pointer(part, at + IMAGE_ENTRIES + WORD.size, end)
    return part
