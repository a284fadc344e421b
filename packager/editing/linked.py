# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An executable or shared library as an edit sees it: its headers, whole, and its dynamic table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Protocol

from packager.editing.relocations import Relocations
from packager.elf.headers import (
    DT_RELA,
    DT_RELASZ,
    DYNAMIC,
    PT_DYNAMIC,
    PT_LOAD,
    SECTION_HEADER,
    SHT_NOBITS,
    Elf,
    Section,
    Segment,
)
from packager.elf.linked_space import LinkedSpace
from packager.errors import FormatError, UsageError
from packager.files.reader import Reader
from packager.host_machines import written
from packager.records import NamedTuple

# Sections that begin the segments of an earlier edit. The next edit removes these segments, unless
# another tool has put a section behind them.
DATA_MARK, REST_MARK = ".omptool.edit.data", ".omptool.edit.rest"
MARKS = (DATA_MARK, REST_MARK)
# New names of sections without their images and tables, so that no reader takes them for
# containers: a section without any image left, and one with other images.
REMOVED_SECTION, REMAINING_SECTION = ".omptool.removed", ".omptool.remaining"
SHN_LORESERVE = 0xFF00
DT_RELACOUNT = 0x6FFFFFF9


def removed_name(address: int) -> str:
    """Return a unique name for an emptied section: patchelf identifies sections by name."""
    return f"{REMOVED_SECTION}.{address:x}"


class Opened(Protocol):
    """A file that is open, and its headers if it is an ELF file."""

    @property
    def path(self) -> Path: ...
    @property
    def data(self) -> Reader: ...
    @property
    def elf(self) -> Elf | None: ...


class DynamicTable(NamedTuple):
    """The dynamic table, up to its end mark, and how many records have room."""

    rows: tuple[tuple[int, int], ...]
    offset: int
    capacity: int

    def value(self, tag: int) -> int | None:
        """Return the first value of a dynamic tag; None if it is absent."""
        return next((value for found, value in self.rows if found == tag), None)


class LinkedFile:
    """The facts of a file that an edit needs."""

    def __init__(self, host: Opened) -> None:
        self.path = host.path
        self.data = host.data
        self.elf = _checked(host.elf)
        self.machine = written(self.elf.machine)
        self.space = LinkedSpace(self.elf)
        self.segments_at = self.elf.segments_at
        self.names_section = self.elf.names_at
        self.sections: Sequence[Section] = self.elf.sections
        _expect_loads(self.elf.segments, len(self.data))
        for section in self.sections:
            _expect_inside(section, len(self.data), self.machine.most)
        self.segments = _apart(self.elf.segments, self.sections)
        if len(self.sections) >= SHN_LORESERVE:
            raise UsageError(f"has {len(self.sections)} sections, more than an edit counts")

    @property
    def is_relocated(self) -> bool:
        """Return whether the loader relocates its pointers."""
        return self.elf.is_dynamic

    @cached_property
    def loads(self) -> list[Segment]:
        """Return the loaded segments, by address."""
        return sorted((s for s in self.segments if s.type == PT_LOAD), key=lambda s: s.address)

    @cached_property
    def own(self) -> list[Segment]:
        """Return the segments of an earlier edit that are still the last ones."""
        marked = {s.address for s in self.sections if s.name in MARKS}
        found: list[Segment] = []
        end = max((s.end for s in self.loads), default=0)
        for load in reversed(self.loads):
            if load.address not in marked or (end := max(end, load.end)) > self._past(load):
                break
            found.append(load)
        return found[::-1]

    def _past(self, load: Segment) -> int:
        """Return where in the file the segments from `load` on, by address, end."""
        return max(s.end for s in self.loads if s.address >= load.address)

    @cached_property
    def front(self) -> Segment | None:
        """Return the segment that loads the program headers, or None."""
        return next((s for s in self.loads if s.offset <= self.segments_at < s.end), None)

    @cached_property
    def kept(self) -> list[Segment]:
        """Return the program headers that stay."""
        return [s for s in self.segments if s not in self.own]

    @cached_property
    def kept_loads(self) -> list[Segment]:
        """Return the loaded segments that stay, by address."""
        return [s for s in self.loads if s not in self.own]

    @cached_property
    def cut(self) -> int:
        """Return the end of the loaded bytes in the file, without segments of an earlier edit."""
        return max((s.end for s in self.kept_loads), default=0)

    @cached_property
    def end(self) -> int:
        """Return the end of the file according to its headers; bytes after it are not ELF's."""
        table_end = self.elf.sections_at + len(self.sections) * SECTION_HEADER.size
        return min(max(self.elf.end(), table_end), len(self.data))

    @cached_property
    def dynamic(self) -> DynamicTable | None:
        """Return the dynamic table; None for a static program."""
        found = next((s for s in self.segments if s.type == PT_DYNAMIC), None)
        if found is None:
            return None
        table = self.data.slice(found.offset, found.file_size, "dynamic segment")
        rows = list(self._rows(table))
        return DynamicTable(tuple(rows), found.offset, len(table) // DYNAMIC.size)

    @cached_property
    def relocations(self) -> Relocations:
        """Return the relocations with addends; none for a static program."""
        tags = (DT_RELA, DT_RELASZ, DT_RELACOUNT)
        table = self.dynamic
        address, size, count = ((table.value(tag) if table else None) or 0 for tag in tags)
        offset = self.elf.offset(address, size) if size else 0
        if offset is None:
            raise FormatError(f"dynamic relocations at address {address:#x} are not in the file")
        return Relocations(
            self.data.slice(offset, size, "dynamic relocations"),
            address,
            count,
            self.machine.relative,
        )

    @staticmethod
    def _rows(table: Reader) -> Iterator[tuple[int, int]]:
        content = table.bytes(0, len(table) // DYNAMIC.size * DYNAMIC.size)
        for tag, value in DYNAMIC.iter_unpack(content):
            if tag == 0:
                return
            yield tag, value

    def dropped(self, section: Section) -> bool:
        """Return whether a section is in a segment of an earlier edit that this one drops."""
        return section.is_allocated and any(s.holds(section.address) for s in self.own)

    def is_loaded(self, section: Section) -> bool:
        """Return whether a section is in memory, and its bytes where a segment has them."""
        if not section.is_allocated or section.type == SHT_NOBITS:
            return section.is_allocated
        end, distance = section.offset + section.size, section.address - section.offset
        return any(
            s.offset <= section.offset and end <= s.end and s.address - s.offset == distance
            for s in self.loads
        )

    def section_at(self, address: int) -> Section | None:
        """Return the section whose bytes are loaded at `address`."""
        for section in self.sections:
            inside = section.address <= address < section.address + max(section.size, 1)
            if section.is_allocated and section.type != SHT_NOBITS and inside:
                return section
        return None


def _checked(elf: Elf | None) -> Elf:
    """Return the headers of a file that can be edited. Raises UsageError for any other file."""
    if elf is None or not (elf.is_executable or elf.is_dynamic):
        raise UsageError("is not an executable or a shared library")
    if not elf.has_headers:
        raise UsageError("has no section headers, which an edit needs")
    return elf


def _expect_loads(segments: Sequence[Segment], size: int) -> None:
    for load in (segment for segment in segments if segment.type == PT_LOAD):
        if load.end > size:
            raise FormatError(f"segment at {load.offset:#x} runs past the end of the file")
        if load.file_size > load.memory_size:
            raise FormatError(f"segment at {load.offset:#x} has more bytes in the file than memory")


def _apart(rows: list[Segment], sections: Sequence[Section]) -> list[Segment]:
    """Return the segments, with the last one split if an earlier edit extended it."""
    load = max((r for r in rows if r.type == PT_LOAD), key=lambda r: r.end, default=None)
    if load is None or any(r.type == PT_LOAD and r.address > load.address for r in rows):
        return rows
    for mark in (s for s in sections if s.name in MARKS and load.address < s.address):
        inside = mark.address - load.address
        if mark.offset - load.offset != inside or inside >= load.file_size:
            continue
        longer = load._replace(
            offset=mark.offset, address=mark.address, physical=mark.address,
            file_size=load.file_size - inside, memory_size=load.memory_size - inside,
        )  # fmt: skip
        at = rows.index(load)
        before = load._replace(file_size=inside, memory_size=inside)
        return [*rows[:at], before, longer, *rows[at + 1 :]]
    return rows


def _expect_inside(section: Section, size: int, most: int) -> None:
    if section.has_bytes and section.offset + section.size > size:
        raise FormatError(f"section {section.name} runs past the end of the file")
    if section.is_allocated and section.address + section.size > most:
        raise FormatError(
            f"section {section.name} is at {section.address:#x}, outside the address space"
        )
    if section.offset > most or section.alignment > most:
        raise FormatError(f"section {section.name} has an impossible file offset")
