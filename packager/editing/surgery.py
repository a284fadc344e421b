# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A change of a linked file: new segments behind all others, and the headers that tell of them.

What is there stays where it is, at the same address and with the same bytes, but for what an edit
names: fields that are patched, images that go, and sections that give way to program headers.
"""

from __future__ import annotations

from collections.abc import Sequence

from packager.editing.layout.room import MOST_ZEROS, Longer, Room, longer, room
from packager.editing.linked import DATA_MARK, MOST, REST_MARK, LinkedFile, ProgramHeader
from packager.editing.linked import REMOVED_SECTION as REMOVED
from packager.editing.parts import PAGE, Address, Group, Kept, Moves, Part, aligned
from packager.editing.relocations import DT_RELACOUNT, Relocations
from packager.elf.headers import (
    DT_NEEDED,
    DT_RELA,
    DT_RELASZ,
    DT_STRTAB,
    DYNAMIC,
    PROGRAM_HEADER,
    PT_DYNAMIC,
    PT_LOAD,
    RELA,
    SHT_DYNSYM,
    SHT_NOTE,
    SHT_RELA,
    SYMBOL,
    WORD,
    Section,
)
from packager.errors import FormatError, UsageError
from packager.writers.elf_types import SHF_ALLOC, SHF_WRITE

DT_RELAENT = 9
PT_PHDR = 6
ALIGNMENT = 16  # of places that something has left
PF_X, PF_W, PF_R = 1, 2, 4
SHT_DYNAMIC = 6
# Tags whose values are addresses of what may move.
ADDRESSES = frozenset((4, 5, 6, 7, 17, 23, 36, 0x6FFFFEF5, 0x6FFFFFF0, 0x6FFFFFFC, 0x6FFFFFFE))
LOWEST = 1 << 20  # address to which patchelf may come with what it puts below a program
MOST_SYMBOLS = 1 << 14  # of notes and tables, which have one each
MARK = b"omptool edit 1\0\0"


class Surgery:
    """Collects what changes, gives it places, and hands out what is to be written."""

    def __init__(self, file: LinkedFile) -> None:
        self.file = file
        self.patches: dict[int, bytes | Address] = {}  # by offset
        self.holes: list[tuple[int, int]] = []  # offset, size: nothing is there
        self.renamed: dict[int, str] = {}  # sections by number
        self.emptied: set[int] = set()  # numbers of sections that are all hole
        self.moves = Moves()
        self.relocations = Relocations(file)
        self.fixed = Group(PF_R | PF_W, [])  # stays when the next edit takes away what is ours
        self.code = Group(PF_R | PF_X, [])
        self.data = Group(PF_R | PF_W, [_mark(DATA_MARK, SHF_ALLOC | SHF_WRITE)])
        self.rest = Group(PF_R, [_mark(REST_MARK, SHF_ALLOC)])
        self.tags: dict[int, Address] = {}  # of the dynamic table
        self.needed: list[int] = []  # libraries, as offsets of the dynamic strings
        self.dynamic_part: Part | None = None
        self.relocation_part: Part | None = None
        self.groups: list[Group] = []
        self.vacated = Room((), (), 0)
        self.longer: Longer | None = None  # segments that are there, where none can be added
        own = file.own
        self.relocations.take_out(lambda at: any(s.holds(at) for s in own))

    # The requests.

    def patch(self, offset: int, content: bytes | Address) -> None:
        """Write other bytes at an offset of the file."""
        self.patches[offset] = content

    def tag(self, tag: int, value: Address | int) -> None:
        """Give a tag of the dynamic table another value."""
        self.tags[tag] = value if isinstance(value, Address) else Address(None, value)

    def can_point(self, place: int) -> bool:
        """Return whether the pointer at address `place` stays there and is bound to no name."""
        if self.file.elf.offset(place, WORD.size) is None:
            return False
        row = self.relocations.row(place)
        is_bound = row is not None and not self.relocations.is_relative(row)
        return not (is_bound or any(s.holds(place) for s in self.file.own))

    def point(self, place: int, target: Address) -> None:
        """Have the pointer at address `place` lead to another address."""
        offset = self.file.elf.offset(place, WORD.size)
        if offset is None:
            raise FormatError(f"the pointer at {place:#x} is not in the file")
        row = self.relocations.row(place)
        if row is None:
            self.patch(offset, target)
            return
        if not self.relocations.is_relative(row):
            raise UsageError(f"the pointer at {place:#x} is bound by a symbol's name")
        old = self.relocations.addend(row)
        self.relocations.set_addend(row, target)
        (word,) = self.file.data.unpack(WORD, offset, "pointer")
        if word and word == old:  # linkers may write it in both places
            self.patch(offset, target)

    def keep(self, part: Part) -> None:
        """Put in a part with pointers; where nothing relocates them, nobody writes it."""
        (self.data if self.file.is_relocated else self.rest).parts.append(part)

    def move(self, section: Section, part: Part) -> None:
        """`part` is where a section, which is written anew, is from now on."""
        part.takes = section
        self.moves.add(section.address, section.address + max(section.size, 1), part)

    # Giving places.

    def settle(self) -> None:
        """Decide which segments there are, and give every part its address."""
        for part in self._parts():
            self.relocations.add_of(part)
        self._carry()
        self._write_relocations()
        self._write_dynamic()
        self._make_room()
        address = max((s.memory_end for s in self._kept_loads()), default=0)
        offset = self.file.cut
        if self.longer:
            self.longer.place()
        for group in self.added:
            address, offset = aligned(address, PAGE), aligned(offset, PAGE)
            group.place(address, offset)
            address, offset = group.address + group.size, group.offset + group.size
        if address > MOST:
            raise UsageError(f"has segments up to {address:#x}: there is no room behind them")
        self._fill_tables()

    def _fill_tables(self) -> None:
        """Write the tables whose size alone was known."""
        table = self.file.dynamic
        if self.relocation_part:
            self.relocation_part.content = tuple(self.relocations.content())
        if self.dynamic_part:
            self.dynamic_part.content = (self._dynamic_bytes(self.dynamic_part.size),)
        elif table is not None:
            self.patch(table.offset, self._dynamic_bytes(table.capacity * DYNAMIC.size))

    def _kept_loads(self) -> list[ProgramHeader]:
        return [s for s in self.file.loads if s not in self.file.own]

    def _carry(self) -> None:
        """Take along what others have in the segments that go: sections that had moved."""
        block: list[Section] = []
        dropped = [s for s in self.file.sections if self.file.dropped(s) and s.size]
        for section in sorted(dropped, key=lambda s: s.address):
            if self._is_ours(section) or self._is_rewritten(section):
                self._block(block)
                block = []
            else:
                block.append(section)
        self._block(block)

    def _is_ours(self, section: Section) -> bool:
        return section.name.startswith(".omptool.")

    def _is_rewritten(self, section: Section) -> bool:
        if section.type == SHT_DYNAMIC or section.address == self.relocations.address:
            return True
        return any(part.takes is section for part in self._parts())

    def _parts(self) -> list[Part]:
        return [part for group in self._all() for part in group.parts]

    def _block(self, sections: Sequence[Section], into: Group | None = None) -> None:
        """Sections that keep their distances, in a place of their own."""
        if not sections:
            return
        start = sections[0]
        offset = self.file.elf.offset(start.address, start.size)
        end = max(s.address + s.size for s in sections)
        if offset is None or self.file.elf.offset(start.address, end - start.address) is None:
            raise FormatError(f"section {start.name} is not in a segment")
        size = end - start.address
        alignment = max(max(s.alignment for s in sections), 8)
        if alignment > PAGE:
            raise UsageError(
                f"section {start.name} is aligned to {alignment} bytes; it cannot move"
            )
        # The first of them may be less aligned than those behind it.
        shift = start.address % alignment
        part = Part("", (bytes(shift), Kept(offset, size)), alignment, is_block=True)
        is_written = any(s.flags & SHF_WRITE for s in sections)
        group = into or (self.data if is_written else self.rest)
        group.parts.insert(1, part)  # behind its mark, in front of images
        self.moves.add(start.address, end, part, shift)

    def _write_relocations(self) -> None:
        rows = self.relocations
        if not rows.is_changed:
            if any(s.holds(rows.address) for s in self.file.own) and rows.size:
                self._add_relocations()
            return
        rows.expect_movable()
        self._add_relocations()

    def _add_relocations(self) -> None:
        rows = self.relocations
        symbols = next((s.number for s in self.file.elf.of_type(SHT_DYNSYM)), 0)
        part = Part(
            ".rela.dyn", (bytes(rows.new_size),), 8, SHT_RELA, SHF_ALLOC, RELA.size, symbols
        )
        self.relocation_part = part
        self.rest.parts.insert(1, part)
        section = next((s for s in self.file.sections if s.address == rows.address), None)
        if rows.size and section is not None and section.type == SHT_RELA:
            part.takes = section
        if rows.size:
            self.moves.add(rows.address, rows.address + rows.size, part)
        self.tag(DT_RELA, part.at(0))
        self.tag(DT_RELASZ, rows.new_size)
        self.tag(DT_RELAENT, RELA.size)
        table = self.file.dynamic
        if table and table.value(DT_RELACOUNT) is not None:
            self.tag(DT_RELACOUNT, rows.new_count)

    def _write_dynamic(self) -> None:
        table = self.file.dynamic
        if table is None:
            if self.tags or self.needed:
                raise UsageError("is static: nothing would relocate or load what is added")
            return
        known = {tag for tag, _ in table.rows}
        missing = [tag for tag in self.tags if tag not in known]
        count = len(table.rows) + len(self.needed) + len(missing) + 1
        own = next((s for s in self.file.sections if s.type == SHT_DYNAMIC), None)
        is_dropped = own is not None and self.file.dropped(own)
        if count <= table.capacity and not is_dropped:
            return
        size = max(count, table.capacity) * DYNAMIC.size
        if own is None:
            raise UsageError("has a dynamic table without a section header")
        part = Part(own.name, (bytes(size),), 16, SHT_DYNAMIC, SHF_ALLOC | SHF_WRITE, DYNAMIC.size)
        self.dynamic_part = part
        self.data.parts.append(part)
        self.move(own, part)

    def _dynamic_bytes(self, size: int) -> bytes:
        table = self.file.dynamic
        assert table is not None
        known = {tag for tag, _ in table.rows}
        rows = []
        for tag, value in table.rows:
            if tag in self.tags:
                rows.append((tag, self.tags[tag].value))
            elif tag in ADDRESSES:
                rows.append((tag, self.moves.address(value) or value))
            else:
                rows.append((tag, value))
        # Libraries that are needed are searched in this order: new ones come last.
        last = max((n + 1 for n, row in enumerate(rows) if row[0] == DT_NEEDED), default=0)
        rows[last:last] = [(DT_NEEDED, name) for name in self.needed]
        rows += [(tag, to.value) for tag, to in self.tags.items() if tag not in known]
        content = b"".join(DYNAMIC.pack(tag, value) for tag, value in rows)
        return content.ljust(size, b"\0")

    def _all(self) -> list[Group]:
        return [self.fixed, self.code, self.data, self.rest]

    def _make_room(self) -> None:
        """Choose how many segments to write, or to make longer."""
        marked = (self.data, self.rest)
        groups = [g for g in self._all() if len(g.parts) > (1 if g in marked else 0)]
        if not groups:
            return
        groups, found = self._room(groups)
        taken = [p.takes for g in groups for p in g.parts if p.takes]
        block: list[Section] = []
        for section in found.moved:
            if section in taken:
                self._block(block, groups[-1])
                block = []
            else:
                block.append(section)
        self._block(block, groups[-1])
        self.groups = groups
        self.vacated = found
        if found.moved or found.cut:
            start = min(s.offset for s in (*found.moved, *found.cut))
            self.holes.append((start, found.end - start))

    def _room(self, groups: list[Group]) -> tuple[list[Group], Room]:
        """The segments to be, and what makes room for their headers, and for patchelf's."""
        kept, spare = len(self.file.kept), self._spare()
        empty = {
            *self.emptied,
            *(s.number for s in self.file.sections if s.name.startswith(REMOVED)),
        }
        merged = self._merged(groups)
        none = room(self.file, kept + spare, empty)
        # A segment without zeros is patchelf's. The next patchelf may take everything out of it,
        # and then strip breaks the file.
        if self._lengthened(merged, 0):
            return merged, none or Room((), (), 0)
        if found := room(self.file, kept + len(groups) + spare, empty):
            return groups, found
        if self._lengthened(merged, MOST_ZEROS):
            return merged, none or Room((), (), 0)
        raise UsageError("has no room for another program header, and none can be made")

    def _lengthened(self, groups: list[Group], zeros: int) -> bool:
        code = next((g for g in groups if g is self.code), None)
        self.longer = longer(self.file, [g for g in groups if g is not code], code, zeros)
        return self.longer is not None

    def _spare(self) -> int:
        """Return how many program headers patchelf adds: one, and one for each section of notes.

        Whatever stands where they go it moves, also code. In front of a program of fixed addresses
        it puts pages of its own.
        """
        return 0 if self.file.elf.is_executable else 1 + len(self.file.elf.of_type(SHT_NOTE))

    def _merged(self, groups: list[Group]) -> list[Group]:
        """Move what is only read along with what is written."""
        if self.data not in groups or self.rest not in groups:
            return groups
        both = Group(self.data.flags, [*self.data.parts, *self.rest.parts[1:]])
        return [*(g for g in groups if g not in (self.data, self.rest)), both]

    # The results.

    @property
    def added(self) -> list[Group]:
        """The groups that get segments of their own."""
        return [] if self.longer else self.groups

    def program_headers(self) -> bytes:
        """The program headers after the edit."""
        count = len(self.file.kept) + len(self.added)
        rows = [self._moved(row, count) for row in self.file.kept]
        last = max(n for n, row in enumerate(rows) if row.type == PT_LOAD)
        added = [
            ProgramHeader(PT_LOAD, g.flags, g.offset, g.address, g.address, g.size, g.size, PAGE)
            for g in self.added
        ]
        rows[last + 1 : last + 1] = added
        return b"".join(PROGRAM_HEADER.pack(*row) for row in rows)

    def _moved(self, row: ProgramHeader, count: int) -> ProgramHeader:
        if row.type == PT_PHDR:
            size = count * PROGRAM_HEADER.size
            return row._replace(file_size=size, memory_size=size)
        if row.type == PT_LOAD:
            return self.longer.row(row) if self.longer else row
        if not row.file_size:
            return row
        if row.type == PT_DYNAMIC and self.dynamic_part is not None:
            part = self.dynamic_part
            row = row._replace(file_size=part.size, memory_size=part.size)
            return row._replace(offset=part.offset, address=part.address, physical=part.address)
        address = self.moves.address(row.address, row.file_size)
        if address is None:
            return row
        offset = self.moves.offset(row.address) or 0
        return row._replace(address=address, physical=address, offset=offset)

    def vacant(self) -> list[tuple[int, int]]:
        """Return the places that something has left and nothing is in now: addresses, from and to.

        strip breaks segments that no section is in. In front of a program of fixed addresses
        patchelf would put the dynamic table there, in a segment that nobody may write; in front of
        others it gets the room, and in front of node room for names that do not fit below it.
        """
        front = self.file.front
        count = len(self.file.kept) + len(self.added)
        last = self.file.segments_at + count * PROGRAM_HEADER.size
        if front is not None:
            last += front.address - front.offset
        spare = self._above()
        found: list[tuple[int, int]] = []
        for start, end, _, _ in sorted(self.moves, key=lambda move: move[0]):
            start, last = max(start, aligned(last, ALIGNMENT)), max(end, last)
            if end <= start or any(s.holds(start) for s in self.file.own):
                continue
            if front is not None and front.holds(start):
                left = min(spare, end - start) if self.file.elf.is_executable else end - start
                start, spare = start + left, spare - left
                if start == end:
                    continue
            if found and start == aligned(found[-1][1], ALIGNMENT):
                start = found.pop()[0]
            found.append((start, end))
        return found

    def _above(self) -> int:
        """Return how many bytes of moved names patchelf cannot put below a program."""
        table, front = self.file.dynamic, self.file.front
        if table is None or front is None:
            return 0
        names = self.moves.size(table.value(DT_STRTAB) or 0)
        return max(0, names - max(0, front.address - LOWEST))

    def symbol_patches(self) -> None:
        """Symbols of sections that have moved lead there, too."""
        moved = {
            s.number
            for s in self.file.sections
            if s.is_allocated and self.moves.address(s.address) is not None
        }
        if not moved:
            return
        count = 0
        for table in self.file.elf.symbol_tables():
            for number, symbol in enumerate(self.file.elf.symbols(table)):
                if symbol.section in moved:
                    address = self.moves.address(symbol.value)
                    if address is not None:
                        count += 1
                        if count > MOST_SYMBOLS:
                            raise FormatError(f"more than {MOST_SYMBOLS} symbols of what moves")
                        at = table.offset + number * SYMBOL.size + 8
                        self.patch(at, WORD.pack(address))


def _mark(name: str, flags: int) -> Part:
    return Part(name, (MARK,), 16, flags=flags)
