# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The section headers after an edit, and the names of sections."""

from __future__ import annotations

from collections.abc import Iterator

from packager.editing.layout.placing import Placed
from packager.editing.layout.segments import aligned
from packager.editing.linked import LinkedFile, removed_name
from packager.editing.plan import Part, Plan
from packager.elf.headers import DT_STRTAB, PROGRAM_HEADER, SHT_NULL, SHT_PROGBITS, Section
from packager.errors import UsageError
from packager.writers.elf_types import SHF_ALLOC, SHN_LORESERVE

NO_SECTION = Section(0, "", SHT_NULL, 0, 0, 0, 0, 0, 0)
ALIGNMENT = 16  # least alignment of a vacant range
LOWEST = 1 << 20  # address to which patchelf may come with what it puts below a program


def section_headers(file: LinkedFile, plan: Plan, placed: Placed) -> tuple[list[Section], bytes]:
    """Return the section headers after the edit, and the bytes of their names."""
    names = _Names(file)
    headers = [_changed(file, section, placed) for section in file.sections]
    for number, name in plan.renamed:
        if headers[number] is not NO_SECTION:
            headers[number] = headers[number]._replace(name_at=names.at(name), type=SHT_PROGBITS)
    for part in placed.parts:
        if part.takes is not None:
            number = part.takes.number
            headers[number] = _of_part(headers[number], part, placed)
    free = [s.number for s in file.sections if headers[s.number] is NO_SECTION and s.number]
    for added in _added(file, placed, names):
        if free:
            headers[free.pop(0)] = added
        else:
            headers.append(added)
    while headers[-1] is NO_SECTION and len(headers) > 1:
        headers.pop()
    if len(headers) >= SHN_LORESERVE:
        raise UsageError(f"the result would have {len(headers)} sections, more than ELF allows")
    return headers, bytes(names.content)


class _Names:
    """The names of sections, to which new ones are added."""

    def __init__(self, file: LinkedFile) -> None:
        self.content = bytearray(file.elf.content(file.sections[file.names_section]).bytes())
        if not self.content.endswith(b"\0"):
            self.content += b"\0"

    def at(self, name: str) -> int:
        """Return the offset of a name; append the name if it is new."""
        text = name.encode("utf-8", "surrogateescape") + b"\0"
        found = self.content.find(b"\0" + text)
        if found >= 0:
            return found + 1
        self.content += text
        return len(self.content) - len(text)


def _added(file: LinkedFile, placed: Placed, names: _Names) -> Iterator[Section]:
    """Yield the headers of new sections, and of ranges that are vacant after the edit."""
    for part in placed.parts:
        if not part.is_block and part.takes is None:
            added = Section(0, part.name, part.type, part.flags, 0, 0, 0, part.link, 0,
                            part.alignment, part.entry_size, names.at(part.name))  # fmt: skip
            yield _of_part(added, part, placed)
    for start, end in _vacant(file, placed):
        yield NO_SECTION._replace(
            type=SHT_PROGBITS, flags=SHF_ALLOC, address=start, size=end - start, alignment=1,
            offset=file.elf.offset(start) or 0, name_at=names.at(removed_name(start)),
        )  # fmt: skip


def _changed(file: LinkedFile, section: Section, placed: Placed) -> Section:
    if section.type == SHT_NULL or not section.is_allocated:
        return NO_SECTION if section.type == SHT_NULL else section
    front, longer, moves = placed.room.front, placed.room.longer, placed.moves
    if section in front.cut:
        gone = front.end - section.offset
        if gone >= section.size:
            return NO_SECTION
        return section._replace(
            address=section.address + gone, offset=section.offset + gone, size=section.size - gone
        )
    address = moves.address(section.address)
    if address is not None:
        return section._replace(address=address, offset=moves.offset(section.address) or 0)
    if longer and longer.is_filled(section):
        offset = longer.data.offset + section.address - longer.data.address
        return section._replace(type=SHT_PROGBITS, offset=offset)
    return NO_SECTION if file.dropped(section) else section


def _of_part(section: Section, part: Part, placed: Placed) -> Section:
    address, offset = placed.places[part]
    info = section.info if part.info is None else part.info
    return section._replace(address=address, offset=offset, size=part.size, info=info)


def _vacant(file: LinkedFile, placed: Placed) -> list[tuple[int, int]]:
    """Return vacant address ranges, which sections have left and nothing occupies.

    strip breaks segments that no section is in. In front of a position-dependent program patchelf
    would put the dynamic table into such a range, in a read-only segment. In front of other
    programs it gets the room, as in node for names that do not fit below it.
    """
    front = file.front
    count = len(file.kept) + len(placed.added)
    last = file.segments_at + count * PROGRAM_HEADER.size
    if front is not None:
        last += front.address - front.offset
    spare = _above(file, placed)
    found: list[tuple[int, int]] = []
    for start, end, _, _ in sorted(placed.moves.rows, key=lambda move: move.start):
        start, last = max(start, aligned(last, ALIGNMENT)), max(end, last)
        if end <= start or any(s.holds(start) for s in file.own):
            continue
        if front is not None and front.holds(start):
            left = min(spare, end - start) if file.elf.is_executable else end - start
            start, spare = start + left, spare - left
            if start == end:
                continue
        if found and start == aligned(found[-1][1], ALIGNMENT):
            start = found.pop()[0]
        found.append((start, end))
    return found


def _above(file: LinkedFile, placed: Placed) -> int:
    """Return how many bytes of moved names patchelf cannot put below a program."""
    table, front = file.dynamic, file.front
    if table is None or front is None:
        return 0
    names = placed.moves.size(table.value(DT_STRTAB) or 0)
    return max(0, names - max(0, front.address - LOWEST))
