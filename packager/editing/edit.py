# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Images added to a finished executable or library, replaced, removed and put in order."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from packager.editing.build_id import find_build_id, renewed
from packager.editing.collect.added import Bounds, images, records
from packager.editing.collect.listing import Judge, Plan, plan
from packager.editing.described import Described, Held, described
from packager.editing.linked import REMAINING_SECTION, LinkedFile, removed_name
from packager.editing.output import write
from packager.editing.parts import Address
from packager.editing.request import Change
from packager.editing.surgery import Surgery
from packager.elf.headers import Section
from packager.errors import FormatError
from packager.files.checksums import Checksums
from packager.files.replacing import replacing
from packager.formats.containers import known
from packager.formats.host_records.descriptors import DESCRIPTOR_IMAGES, IMAGE_END
from packager.hosts.host_file import HostFile
from packager.model import FatBinary, Finding
from packager.writers.checked import checked
from packager.writers.streams import Copied, ignore

COUNT = 4  # bytes of the number of images
MODE = 0o777
FILLING = 64  # bytes that may be nothing but zeros


class Edited(NamedTuple):
    """The result of an edit: what `verify` finds in it, and what users should know."""

    findings: Sequence[Finding]
    notes: Sequence[str]


def edit(
    host: HostFile,
    change: Change,
    out: Path,
    sums: Checksums,
    *,
    judged: Judge = list,
    force: bool = False,
    copied: Copied = ignore,
) -> Edited:
    """Write to `out`, which may be `host`, the file with the images of its descriptor changed.

    `sums` are of the new images; `judged` asks plugins about those of no known format. Raises
    FindingError, and leaves nothing, when verify finds an error in the result and `force` is not
    set; UsageError or FormatError when the file or an image is unfit.
    """
    binary = host.binary
    file = LinkedFile(host.path, host.data)
    found = described(file, binary, change.descriptor)
    planned = plan(change, found.images, judged, force=force)
    surgery = Surgery(file)
    places = images(surgery, planned.images, found.form)
    list_images(surgery, found, places)
    _clear(surgery, binary, planned)
    return finish(
        surgery, out, sums, is_wrapped=found.form.wraps, own=_own(binary, planned),
        force=force, copied=copied,
    )  # fmt: skip


def _own(binary: FatBinary, planned: Plan) -> frozenset[tuple[str, int]]:
    """Return the images of no known format, by triple and size, that may be in the result: those
    that were there, and those that plugins take.
    """
    there = ((image.triple, image.size) for image in binary.images if image.contents.is_own)
    return planned.own.union(there)


def list_images(surgery: Surgery, found: Described, places: Sequence[Bounds]) -> None:
    """The records of images, and the descriptor that leads to them."""
    count = len(places)
    offset = surgery.file.elf.offset(found.address, COUNT)
    if offset is None:
        raise FormatError(f"the descriptor at {found.address:#x} is not in the file")
    surgery.patch(offset, count.to_bytes(COUNT, "little"))
    if not places:
        surgery.point(found.address + DESCRIPTOR_IMAGES, Address(None, 0))
        return
    pointers = [
        (found.records + number * found.record.size + inside, target)
        for number, place in enumerate(places)
        for inside, target in ((0, place.begin), (IMAGE_END, place.end))
    ]
    # Where they are, the loader protects them after relocation.
    if count <= len(found.images) and all(surgery.can_point(at) for at, _ in pointers):
        for at, target in pointers:
            surgery.point(at, target)
        return
    entries = Bounds(Address(None, found.begin), Address(None, found.end))
    part = records(surgery, found.record, entries, places)
    surgery.keep(part)
    surgery.point(found.address + DESCRIPTOR_IMAGES, part.at(0))


def _clear(surgery: Surgery, binary: FatBinary, planned: Plan) -> None:
    """Take away the bytes of images that nothing points to any more.

    What an earlier edit had put in goes with its segments; else there is a hole.
    """
    wanted = [h for h in planned.images if isinstance(h, Held)]
    ranges = [(h.offset, h.offset + h.size) for h in wanted]
    used = {h.image.index for h in planned.gone}
    others = [i for i in binary.images if i.index not in used]
    ranges += [(i.offset, i.offset + i.size) for i in others]
    for held in planned.gone:
        section = held.section
        if section is not None and surgery.file.dropped(section):
            continue
        end = held.offset + held.size
        if any(start < end and held.offset < stop for start, stop in ranges):
            continue  # somebody else's, too
        surgery.holes.append((held.offset, held.size))
        if section is not None and known.of_section(section):
            _rename(surgery, section)


def _rename(surgery: Surgery, section: Section) -> None:
    """No reader may take a section with a hole for a container; other images may still be in it."""
    end = section.offset + section.size
    gone = sum(size for at, size in surgery.holes if section.offset <= at < end)
    surgery.renamed[section.number] = REMAINING_SECTION
    if gone == section.size:
        surgery.renamed[section.number] = removed_name(section.address)
        surgery.emptied.add(section.number)


def finish(
    surgery: Surgery,
    out: Path,
    sums: Checksums,
    *,
    is_wrapped: bool,
    own: Collection[tuple[str, int]],
    force: bool,
    copied: Copied,
) -> Edited:
    """Write beside `out`, check, and rename only what is sound."""
    file = surgery.file
    surgery.settle()
    status = file.path.stat()
    with replacing(out, status.st_mode & MODE) as temporary:
        with temporary.open("r+b") as stream:
            new = write(stream, surgery, copied)
            old = find_build_id(file)
            notes: list[str] = []
            if old:
                images = [sums.of(image) for image in new.images]
                notes = renewed(stream, surgery, old, [*images, *new.content])
        findings = checked(temporary, force=force, is_wrapped=is_wrapped, own=own)
    if status.st_mode & ~MODE & 0o7000:
        notes.append("the result loses set-user-ID and set-group-ID")
    behind = len(file.data) - file.end
    # patchelf leaves a zero there.
    if behind > FILLING or any(file.data.bytes(file.end, behind)):
        what = "1 byte is" if behind == 1 else f"{behind} bytes are"
        notes.append(f"{what} kept behind the ELF file; a signature there is void")
    return Edited(findings, notes)
