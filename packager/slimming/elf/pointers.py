# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pointers to containers: a container moves only with every pointer to it."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence

from packager.editing.linked import LinkedFile
from packager.elf.address_space import NO_RELOCATIONS, POINTER_RELOCATIONS
from packager.elf.headers import DT_RELA, DT_RELASZ, RELA, SHT_DYNSYM, SHT_PROGBITS, WORD, Section
from packager.elf.relr import relr_places
from packager.errors import FormatError
from packager.files.reader import PIECE
from packager.formats.host_records import fatbin_wrappers
from packager.records import NamedTuple
from packager.slimming.elf.packing import Packed

ADDEND_AT = 16  # offset in a relocation
HIGH = 24  # first of the bits of addresses by which most relocations are passed over
Patch = tuple[int, bytes]  # offset in the file, and what is there from now on


class Pointers(NamedTuple):
    """The patches for the containers of a section, or why the containers must not move."""

    patches: tuple[Patch, ...]
    fault: str | None = None


class _Section:
    """A section of containers, and the pointers found into it."""

    def __init__(self, file: LinkedFile, packed: Packed) -> None:
        section = packed.section
        self._file = file
        self.low, self.high = section.address, section.address + section.size
        self.addresses = packed.addresses
        self.moved = {old: new for old, new in self.addresses.items() if old != new}
        self.patches: dict[int, bytes] = {}
        self.seen: set[int] = set()
        self.fault: str | None = None

    def holds(self, address: int) -> bool:
        """Return whether an address is in the section."""
        return self.low <= address < self.high

    def lead(self, target: int, offset: int | None) -> None:
        """Record a pointer to `target` whose value is at `offset` of the file."""
        if target not in self.addresses:
            self.fault = self.fault or f"a pointer leads to {target:#x}, inside a container"
        elif offset is None:
            self.fault = self.fault or f"a pointer to {target:#x} is not in the file"
        else:
            self.seen.add(target)
            if target in self.moved:
                self.patches[offset] = WORD.pack(self.moved[target])

    def word(self, place: int) -> None:
        """Record the word at an address, if it points into the section."""
        offset = self._file.elf.offset(place, WORD.size)
        if offset is not None:
            (target,) = self._file.data.unpack(WORD, offset, "pointer")
            if self.holds(target):
                self.lead(target, offset)

    def result(self) -> Pointers:
        """Return the patches, or the fault where a pointer is missing."""
        lost = min(self.moved.keys() - self.seen, default=None)
        fault = self.fault
        if lost is not None:
            fault = fault or f"no pointer to the container at {lost:#x} is known"
        if fault:
            return Pointers((), fault)
        return Pointers(tuple(self.patches.items()))


def find_pointers(file: LinkedFile, packed: Sequence[Packed]) -> list[Pointers]:
    """Return the pointers to the containers of each section, without those in code."""
    found = [_Section(file, one) for one in packed]
    if not any(one.moved for one in found):
        return [one.result() for one in found]
    _symbols(file, found)
    _relocations(file, found)
    places = list(relr_places(file.elf))
    for one in found:
        for place in places:
            one.word(place)
        if file.elf.is_executable:
            _plain(file, one)
    return [one.result() for one in found]


def _symbols(file: LinkedFile, sections: Sequence[_Section]) -> None:
    """Check that dynamic symbols are at starts of containers: others would not move with them."""
    for table in file.elf.of_type(SHT_DYNSYM):
        for symbol in file.elf.symbols(table):
            for one in sections if symbol.is_defined else ():
                if one.holds(symbol.value) and symbol.value not in one.addresses:
                    one.fault = one.fault or (
                        f"a dynamic symbol is at {symbol.value:#x}, inside a container"
                    )


def _relocations(file: LinkedFile, sections: Sequence[_Section]) -> None:
    """Record the relative relocations whose addends point into a section."""
    relative, _ = POINTER_RELOCATIONS.get(file.elf.machine, NO_RELOCATIONS)
    likely = [_high_bytes(one.low, one.high) for one in sections]
    for offset, words in _rows(file):
        content = words.tobytes()
        near = [one for one, high in zip(sections, likely, strict=True) if _has_any(content, high)]
        if not near:
            continue  # so it is with most of a large library
        places, kinds, addends = words[::3], words[1::3], words[2::3]
        for one in near:
            low, high = one.low, one.high
            if _overlaps(places, low, high) and any(low <= place < high for place in places):
                one.fault = one.fault or "the loader changes words inside it"
            if not any(map(range(low, high).__contains__, addends)):
                continue
            for row in [n for n, addend in enumerate(addends) if low <= addend < high]:
                if kinds[row] == relative:
                    one.lead(addends[row], offset + row * RELA.size + ADDEND_AT)
                    one.word(places[row])  # some linkers write the address there as well


def _high_bytes(low: int, high: int) -> bytes:
    """Return the values that bits 24 to 31 of the addresses in a range have."""
    first, last = low >> HIGH, max(high - 1, low) >> HIGH
    return bytes({number & 0xFF for number in range(first, min(last, first + 0xFF) + 1)})


def _has_any(rows: bytes, high: bytes) -> bool:
    """Return whether a place or an addend of relocations may have one of these bits 24 to 31."""
    columns = rows[HIGH >> 3 :: RELA.size] + rows[ADDEND_AT + (HIGH >> 3) :: RELA.size]
    return len(columns.translate(None, high)) < len(columns)


def _overlaps(column: array[int], low: int, high: int) -> bool:
    """Return whether any value could be in a range."""
    return max(column) >= low and min(column) < high


def _rows(file: LinkedFile) -> Iterator[tuple[int, array[int]]]:
    """Yield the relocations with addends, some thousand at a time, and where they are."""
    table = file.dynamic
    address, size = ((table.value(tag) if table else 0) or 0 for tag in (DT_RELA, DT_RELASZ))
    if not size:
        return
    offset = file.elf.offset(address, size)
    if offset is None:
        raise FormatError(f"dynamic relocations at address {address:#x} are not in the file")
    content = file.data.slice(offset, size, "dynamic relocations")
    for words in file.elf.words(RELA.size, content, "dynamic relocations"):
        yield offset, words
        offset += len(words) * WORD.size


def _plain(file: LinkedFile, one: _Section) -> None:
    """Record the pointers of a position-dependent program, which are those of wrappers."""
    known: set[int] = set()
    for section in file.sections:
        if fatbin_wrappers.model_of(section) and section.has_bytes:
            known |= {section.address + at for at in _wrapped(section)}
    for place in known:
        one.word(place)
    for section in file.sections:
        if section.type == SHT_PROGBITS and section.is_allocated and not section.is_code:
            word = _word(file, section, one, known)
            if word is not None:
                one.fault = one.fault or f"the word at {word:#x} may be a pointer to a container"


def _word(file: LinkedFile, section: Section, one: _Section, known: set[int]) -> int | None:
    """Return the place of a word in other data that may point into the containers."""
    if one.holds(section.address):
        return None
    content, low, high = file.elf.content(section), one.low, one.high
    first = -section.address % WORD.size
    for at in range(first, len(content) - WORD.size + 1, PIECE):
        piece = content.bytes(at, min(PIECE, len(content) - at))
        words = array("Q", piece[: len(piece) // WORD.size * WORD.size])
        for number in [n for n, word in enumerate(words) if low <= word < high]:
            place = section.address + at + number * WORD.size
            if place not in known:
                return place
    return None


def _wrapped(section: Section) -> range:
    """Return the offsets of pointers in a section of wrappers."""
    most = fatbin_wrappers.MAX_WRAPPERS * fatbin_wrappers.SIZE
    last = min(section.size, most) - fatbin_wrappers.SIZE + 1
    return range(fatbin_wrappers.BINARY, max(0, last) + fatbin_wrappers.BINARY,
                 fatbin_wrappers.SIZE)  # fmt: skip
