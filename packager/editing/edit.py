# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Add, replace, remove and reorder images of a finished executable or library."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from packager.editing.collect.added import Bounds, image, records
from packager.editing.collect.listing import Judge, Listing, listing
from packager.editing.collect.pointers import can_point, point
from packager.editing.described import Described, Held, described
from packager.editing.finish import Edited, finish, own_images
from packager.editing.linked import REMAINING_SECTION, LinkedFile, removed_name
from packager.editing.plan import Address, Hole, Patch, Plan, Renamed, joined
from packager.editing.request import Change
from packager.elf.headers import Section
from packager.errors import FormatError
from packager.files.checksums import Checksums
from packager.files.reader import OpenFiles
from packager.formats.containers import known
from packager.formats.host_records.descriptors import DESCRIPTOR_IMAGES, IMAGE_END
from packager.hosts.host_file import HostFile
from packager.model import FatBinary
from packager.writers.streams import Copied, ignore

COUNT = 4  # bytes of the number of images


def edit(
    host: HostFile,
    change: Change,
    out: Path,
    files: OpenFiles,
    sums: Checksums,
    *,
    judged: Judge = list,
    force: bool = False,
    copied: Copied = ignore,
) -> Edited:
    """Write to `out`, which may be `host`, the file with the images of its descriptor changed.

    `files` are the new images, `sums` their checksums; `judged` asks plugins about unknown formats.
    Raises FindingError, and writes nothing, if verify finds an error in the result and `force` is
    not set; UsageError or FormatError if the file or an image is unfit.
    """
    binary = host.binary
    file = LinkedFile(host)
    found = described(file, binary, change.descriptor)
    listed = listing(change, found.images, files, judged, force=force)
    images = [image(file, one, found.form) for one in listed.images]
    plan = joined(
        [
            *(placed.plan for placed in images),
            list_images(file, found, [placed.bounds for placed in images]),
            _clear(file, binary, listed),
        ]
    )
    return finish(
        file, plan, out, sums, is_wrapped=found.form.wraps,
        own=listed.own | own_images(binary),
        force=force, copied=copied,
    )  # fmt: skip


def list_images(file: LinkedFile, found: Described, places: Sequence[Bounds]) -> Plan:
    """Return the plan for the records of images and for the descriptor that points to them."""
    count = len(places)
    offset = file.elf.offset(found.address, COUNT)
    if offset is None:
        raise FormatError(f"the descriptor at {found.address:#x} is not in the file")
    counted = Plan(patches=(Patch(offset, count.to_bytes(COUNT, "little")),))
    first = found.address + DESCRIPTOR_IMAGES
    if not places:
        return joined([counted, point(file, first, Address(None, 0))])
    pointers = [
        (found.records + number * found.record.size + inside, target)
        for number, place in enumerate(places)
        for inside, target in ((0, place.begin), (IMAGE_END, place.end))
    ]
    # The old records may be in memory that the loader makes read-only after relocation.
    if count <= len(found.images) and all(can_point(file, at) for at, _ in pointers):
        return joined([counted, *(point(file, at, target) for at, target in pointers)])
    entries = Bounds(Address(None, found.begin), Address(None, found.end))
    part = records(file, found.record, entries, places)
    return joined([counted, Plan((part,)), point(file, first, part.at(0))])


def _clear(file: LinkedFile, binary: FatBinary, listed: Listing) -> Plan:
    """Remove the bytes of images that nothing refers to any more.

    Images of an earlier edit disappear with their segments. Others leave a hole.
    """
    wanted = [h for h in listed.images if isinstance(h, Held)]
    ranges = [(h.offset, h.offset + h.size) for h in wanted]
    used = {h.image.index for h in listed.gone}
    others = [i for i in binary.images if i.index not in used]
    ranges += [(i.offset, i.offset + i.size) for i in others]
    gone = [h for h in listed.gone if h.section is None or not file.dropped(h.section)]
    gone = [  # without those that are somebody else's, too
        h for h in gone if not any(a < h.offset + h.size and h.offset < b for a, b in ranges)
    ]
    holes = tuple(Hole(h.offset, h.size) for h in gone)
    found = (h.section for h in gone if h.section is not None)
    sections = dict.fromkeys(section for section in found if known.of_section(section))
    return Plan(holes=holes, renamed=tuple(_renamed(s, holes) for s in sections))


def _renamed(section: Section, holes: Sequence[Hole]) -> Renamed:
    """Return the new name of a section with a hole, so that no reader takes it for a container.

    The section may still contain other images.
    """
    end = section.offset + section.size
    gone = sum(size for at, size in holes if section.offset <= at < end)
    whole = gone == section.size
    return Renamed(section.number, removed_name(section.address) if whole else REMAINING_SECTION)
