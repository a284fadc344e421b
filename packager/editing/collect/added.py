# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The new parts of an edited file: images in their containers, and the records that list them."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct

from packager.editing.described import Form, Held
from packager.editing.linked import LinkedFile
from packager.editing.plan import Address, Fixup, Kept, Part, Plan
from packager.elf.headers import WORD
from packager.files.copying import BLOCK
from packager.formats.containers import offload_binary
from packager.formats.host_records.descriptors import IMAGE_END, IMAGE_ENTRIES
from packager.layouts import PROPOSAL_IMAGE
from packager.records import NamedTuple
from packager.writers.elf_types import SHF_ALLOC, SHF_WRITE, FilePart
from packager.writers.wrapper import ImageInput, offload_header

# Size from which an image is aligned to the block that the kernel copies fastest.
LARGE = 1 << 20
RECORDS_SECTION = ".omptool.images"


class Bounds(NamedTuple):
    """The addresses at which an image or a table begins and ends."""

    begin: Address
    end: Address


class Placed(NamedTuple):
    """An image, and the new part that holds it, if any."""

    bounds: Bounds
    plan: Plan = Plan()


def image(file: LinkedFile, wanted: Held | ImageInput, form: Form) -> Placed:
    """Give an image a place: its own, or one in a new segment."""
    return _held(file, wanted) if isinstance(wanted, Held) else _new(wanted, form)


def _held(file: LinkedFile, held: Held) -> Placed:
    """Return the place of an image that the file has already.

    The image stays there unless the edit drops its segment; then a new part copies it.
    """
    section = held.section
    if section is None or not file.dropped(section):
        return Placed(Bounds(Address(None, held.start), Address(None, held.end)))
    inside = held.start - section.address - (held.offset - section.offset)
    size = held.end - held.start
    part = Part(
        "rest", section.name, (Kept(held.offset, held.size),), offload_binary.ALIGNMENT,
        flags=SHF_ALLOC, lead=-held.offset % BLOCK if size > LARGE else None,
    )  # fmt: skip
    return Placed(Bounds(part.at(inside), part.at(inside + size)), Plan((part,)))


def _new(image: ImageInput, form: Form) -> Placed:
    head, padding = offload_header(image, form.version)
    size = len(head) + image.size + padding
    part = Part(
        "rest", image.section, (head, FilePart(image.path, image.data), bytes(padding)),
        offload_binary.ALIGNMENT, flags=SHF_ALLOC, lead=len(head) if size > LARGE else None,
    )  # fmt: skip
    start, size = (0, size) if form.wraps else (len(head), image.size)
    return Placed(Bounds(part.at(start), part.at(start + size)), Plan((part,)))


def records(file: LinkedFile, record: Struct, entries: Bounds, places: Sequence[Bounds]) -> Part:
    """Return the records that list images, for a descriptor with these bounds of its entries."""
    fields: list[tuple[int, Address]] = []
    for number, place in enumerate(places):
        at = number * record.size
        fields += [(at, place.begin), (at + IMAGE_END, place.end)]
        if record is not PROPOSAL_IMAGE:
            fields += [(at + IMAGE_ENTRIES, entries.begin)]
            fields += [(at + IMAGE_ENTRIES + WORD.size, entries.end)]
    return Part(
        # In a file without relocations no record is written at run time.
        "data" if file.is_relocated else "rest", RECORDS_SECTION,
        (bytes(record.size),) * len(places), WORD.size,
        flags=SHF_ALLOC | (SHF_WRITE if file.is_relocated else 0),
        fixups=tuple(Fixup(at, target) for at, target in fields),
    )  # fmt: skip
