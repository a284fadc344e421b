# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`__tgt_bin_desc` and `__tgt_device_image[]`, and the constructors that register them.

The proposal of 2013 has images without the bounds of the entries.

Symbols are no help in a stripped file, so a descriptor is found from what must point to it: it and
its images hold the bounds of the entries, its images the addresses of the device images. Reading
follows those pointers backwards, then checks the structure forwards. In a file without section
headers nothing is known to follow: every word that may be a number of images is looked at. If
neither finds one, the arguments of constructors' calls are looked at.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence, Set
from itertools import chain, islice

from packager.elf.address_space import CODE_WINDOW, Space
from packager.elf.headers import SHT_FINI_ARRAY, SHT_INIT_ARRAY, WORD, Section
from packager.elf.relocated import Range, Window
from packager.errors import FormatError
from packager.formats.host_records.entries import FoundTable
from packager.formats.host_records.record_forms import RecordForms, is_nameless
from packager.host_machines import MACHINES
from packager.layouts import BIN_DESC, DEVICE_IMAGE, PROPOSAL_ENTRY, PROPOSAL_IMAGE, EntryLayout
from packager.patterns import pattern
from packager.records import NamedTuple

# Most images of a descriptor, one per triple and arch. Pointers yield many wrong candidates.
MAX_IMAGES = 1024
MAX_CANDIDATES = 1 << 16
MAX_FOUND = 1 << 12  # most descriptors in a file without section headers
MAX_RECORDS = 1 << 14  # images in all descriptors of a file
MAX_CONSTRUCTORS = 1 << 16
# Size of a piece of data that is searched.
PIECE = 1 << 16
# Matches a number of images, as a 64-bit word.
_COUNT = pattern(rb"(?=[\x01-\x40]\x00{7})", re.DOTALL)

# Offsets of pointers in the records.
IMAGE_END, IMAGE_ENTRIES = 8, 16
DESCRIPTOR_IMAGES, DESCRIPTOR_BEGIN, DESCRIPTOR_END = 8, 16, 24


class ImageRange(NamedTuple):
    """A __tgt_device_image: where the bytes of an image are."""

    start: int
    end: int


class FoundDescriptor(NamedTuple):
    """A __tgt_bin_desc, in addresses of its Space."""

    address: int
    images: tuple[ImageRange, ...]
    begin: int | None  # first entry; None: a symbol that the linker will define
    end: int | None
    bounds: tuple[str | None, str | None]  # symbols of begin and end, in an object
    layout: EntryLayout | None  # layout of the entries, if known
    array: int  # the address of the records of images
    record: int  # bytes of one


def find(
    space: Space, tables: Sequence[FoundTable], images: Collection[int], imports: Sequence[str]
) -> list[FoundDescriptor]:
    """Return the descriptors of a file, in address order.

    `tables` are its sections of entries, `images` the addresses of device images.
    """
    if not tables and not images:
        return []  # nothing could refer to a descriptor
    begins, ends = {table.bounds[0] for table in tables}, {table.bounds[1] for table in tables}
    candidates, by_end, records = set(), set(), set()
    for place, value in space.places(begins | ends | set(images)):
        if value in begins:
            candidates.add(place - DESCRIPTOR_BEGIN)
        if value in ends:
            by_end.add(place - DESCRIPTOR_END)
        if value in images:
            records.add(place)
    for place, _ in space.places(records) if records else ():
        candidates.add(place - DESCRIPTOR_IMAGES)
    if len(by_end) <= MAX_CANDIDATES:  # else something popular lies right behind the entries
        candidates |= by_end
    if len(candidates) > MAX_CANDIDATES:
        raise FormatError(f"{len(candidates)} places look like an offload descriptor")
    forms = RecordForms(space, tables, imports)
    found = _checked(space, sorted(candidates), forms)
    bounds = {table.bounds for table in tables}
    return found or [at for at in _registered(space, forms, bounds) if at.begin in begins]


def _registered(
    space: Space, forms: RecordForms, bounds: Set[tuple[int | None, int | None]] = frozenset()
) -> list[FoundDescriptor]:
    """Return the descriptors that constructors of position-dependent code refer to.

    Clang 14 places them among constants, behind images that are too large to search. A descriptor
    without images, which an edit may leave, is recognised by the `bounds` of its entries.
    """
    if not space.elf.is_executable or space.elf.machine not in MACHINES:
        return []
    targets = {
        target
        for function in constructors(space)
        for target in space.targets(function, function + CODE_WINDOW)
    }
    if len(targets) > MAX_CANDIDATES:
        return []
    checked = _checked(space, sorted(targets), forms)
    emptied = [at for at in checked if not at.images and (at.begin, at.end) in bounds]
    return [*_agreeing(space, checked), *emptied]


class _Head(NamedTuple):
    """A __tgt_bin_desc, and the layout of its records."""

    window: Window
    layout: EntryLayout | None

    @property
    def image_size(self) -> int:
        return (PROPOSAL_IMAGE if self.layout is PROPOSAL_ENTRY else DEVICE_IMAGE).size


def search(space: Space, imports: Sequence[str]) -> list[FoundDescriptor]:
    """Return the descriptors of a file whose sections of entries and images are unknown."""
    found: list[FoundDescriptor] = []
    forms = RecordForms(space, (), imports, by_contents=False)
    words = chain.from_iterable(_counts(space, s) for s in space.elf.sections if s.is_data)
    while candidates := list(islice(words, MAX_CANDIDATES)):  # each batch reads all relocations
        checked = [at for at in _checked(space, candidates, forms) if at.begin]
        found += _agreeing(space, checked)
        if len(found) > MAX_FOUND:
            raise FormatError(f"more than {MAX_FOUND} places look like an offload descriptor")
    return found or [at for at in _registered(space, forms) if at.begin]


def _counts(space: Space, section: Section) -> Iterator[int]:
    """Yield the addresses of words in writable data that may be a number of images."""
    data, start = space.elf.content(section), space.address(section)
    for first in range(0, len(data), PIECE):
        piece = data.bytes(first, min(PIECE + WORD.size, len(data) - first), section.name)
        at = (found.start() for found in _COUNT.finditer(piece, 0, PIECE + WORD.size - 1))
        places = (start + first + offset for offset in at)
        yield from (place for place in places if place % WORD.size == 0)


def _agreeing(space: Space, found: Sequence[FoundDescriptor]) -> Iterator[FoundDescriptor]:
    """Yield the descriptors whose images all have the descriptor's bounds of entries.

    Records of 2013 lack these bounds. Their descriptors must have nameless entries instead.
    """
    with_images = [at for at in found if at.images]
    ranges = [Range(at.address, BIN_DESC.size, "offload descriptor") for at in with_images]
    heads = zip(space.windows(ranges), with_images, strict=True)
    arrays = space.windows([_array(_Head(head, at.layout)) for head, at in heads])
    for descriptor, array in zip(with_images, arrays, strict=True):
        if descriptor.layout is PROPOSAL_ENTRY:
            agrees = is_nameless(space, descriptor.begin, descriptor.end)
        else:
            agrees = _agrees(descriptor, array)
        if agrees:
            yield descriptor


def _agrees(descriptor: FoundDescriptor, array: Window) -> bool:
    count = len(descriptor.images)
    return all(
        array.pointer(at + IMAGE_ENTRIES) == descriptor.begin
        and array.pointer(at + IMAGE_ENTRIES + WORD.size) == descriptor.end
        for at in range(0, count * DEVICE_IMAGE.size, DEVICE_IMAGE.size)
    )


def _checked(space: Space, candidates: Sequence[int], forms: RecordForms) -> list[FoundDescriptor]:
    """Return the candidates whose records are consistent."""
    mapped = [at for at in candidates if space.offset(at, BIN_DESC.size) is not None]
    ranges = [Range(at, BIN_DESC.size, "offload descriptor") for at in mapped]
    heads = [_head(window, forms) for window in space.windows(ranges) if _is_head(window)]
    heads = [head for head in heads if _has_array(space, head)]
    if sum(head.window.word(0) for head in heads) > MAX_RECORDS:
        raise FormatError(f"offload descriptors with more than {MAX_RECORDS} images")
    arrays = [_array(head) for head in heads if head.window.word(0)]
    windows = iter(space.windows(arrays))
    found = []
    for head in heads:
        has_images = head.window.word(0) > 0
        images = _images(space, next(windows), head.image_size) if has_images else ()
        if images is not None:
            found.append(_descriptor(head, images))
    return found


def _head(window: Window, forms: RecordForms) -> _Head:
    begin, end = window.pointer(DESCRIPTOR_BEGIN), window.pointer(DESCRIPTOR_END)
    return _Head(window, forms.entries(begin, end, window.symbol(DESCRIPTOR_BEGIN)))


def _is_head(window: Window) -> bool:
    count, images = window.word(0), window.pointer(DESCRIPTOR_IMAGES)
    begin, end = window.pointer(DESCRIPTOR_BEGIN), window.pointer(DESCRIPTOR_END)
    if count > MAX_IMAGES or window.pointer(0) is None or images is None:
        return False
    if begin is not None and end is not None and begin > end:
        return False
    if count == 0 and begin == 0 and end and window.symbol(DESCRIPTOR_BEGIN) is None:
        return False  # zeros in front of a word that happens to be the end of the entries
    return (count == 0) == (images == 0)


def _has_array(space: Space, head: _Head) -> bool:
    at = _array(head)
    return at.size == 0 or space.offset(at.address, at.size) is not None


def _array(head: _Head) -> Range:
    images = head.window.pointer(DESCRIPTOR_IMAGES) or 0
    return Range(images, head.window.word(0) * head.image_size, "device image records")


def _images(space: Space, array: Window, record: int) -> tuple[ImageRange, ...] | None:
    images = []
    for at in range(0, len(array.data), record):
        start, end = array.pointer(at), array.pointer(at + IMAGE_END)
        if start is None or end is None or start > end:
            return None
        if space.offset(start, end - start) is None:
            return None
        images.append(ImageRange(start, end))
    return tuple(images)


def _descriptor(head: _Head, images: tuple[ImageRange, ...]) -> FoundDescriptor:
    window = head.window
    return FoundDescriptor(
        window.address,
        images,
        window.pointer(DESCRIPTOR_BEGIN),
        window.pointer(DESCRIPTOR_END),
        (window.symbol(DESCRIPTOR_BEGIN), window.symbol(DESCRIPTOR_END)),
        head.layout,
        head.window.pointer(DESCRIPTOR_IMAGES) or 0,
        head.image_size,
    )


def registering(space: Space, wanted: Set[int]) -> dict[int, str]:
    """Return the registering constructor's name for each descriptor's address.

    In a stripped file it is the place in the array, ".init_array[2]". Empty for a machine without a
    code reader.
    """
    if not wanted or space.elf.machine not in MACHINES:
        return {}
    slots = constructors(space)
    found: dict[int, int] = {}
    for refer in (space.references, space.loads):
        rest = wanted - found.keys()
        for function, address in refer(slots, rest) if rest else ():
            # A short function is followed by the next one in the window: the last function refers.
            found[address] = max(function, found.get(address, 0))
    names = space.symbol_names(set(found.values()))
    return {
        address: names.get(function, f".init_array[{slots[function]}]")
        for address, function in found.items()
    }


def unregistered_by_array(space: Space, wanted: Set[int]) -> bool | None:
    """Return whether a function of .fini_array refers to one of the descriptors `wanted`.

    Other files unregister them by atexit. Return None if no constructor refers to one.
    """
    if not wanted or space.elf.machine not in MACHINES:
        return None
    first, last = constructors(space), constructors(space, SHT_FINI_ARRAY)
    starts = sorted({*first, *last})

    def is_known(function: int) -> bool:
        end = next(iter(starts[bisect_right(starts, function) :]), function + CODE_WINDOW)
        return not wanted.isdisjoint(space.targets(function, end))

    if any(map(is_known, last)):
        return True
    return False if any(map(is_known, first)) else None


def constructors(space: Space, kind: int = SHT_INIT_ARRAY) -> dict[int, int]:
    """Return the functions that run before main, or at exit, and the addresses of their slots."""
    ranges = [
        Range(space.address(section), section.size // WORD.size * WORD.size, section.name)
        for section in space.elf.of_type(kind)
        if section.size >= WORD.size
    ]
    functions: dict[int, int] = {}
    for window in space.windows(ranges):
        for at in range(0, len(window.data), WORD.size):
            address = window.pointer(at)
            if address and len(functions) < MAX_CONSTRUCTORS:
                functions.setdefault(address, at // WORD.size)
    return functions
