# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pair the host's entries with those of each device image: by name, kind, size and order.

Entries without names (the proposal of 2013) are paired by their place in the table. The symbols at
the addresses of such an entry, in the host and in the image, are only a hint.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Literal

from packager.model import (
    DeviceImage,
    DeviceSymbol,
    EntryKind,
    EntryState,
    EntryTable,
    FatBinary,
    OffloadEntry,
)

# Kind of symbol that an entry needs on the device; a `requires` entry needs none.
DEVICE_KINDS: dict[EntryKind, Literal["kernel", "global"]] = {
    "kernel": "kernel",
    "ctor": "kernel",
    "dtor": "kernel",
    "global": "global",
    "link": "global",  # the pointer to the variable
    "indirect": "global",  # the pointer to the function
}


def needs_device(entry: OffloadEntry) -> bool:
    """Return whether images must define the entry."""
    return entry.model == "openmp" and entry.kind in DEVICE_KINDS


def counterparts(table: EntryTable, image: DeviceImage) -> Sequence[DeviceSymbol | None]:
    """Return the image's counterpart of each entry, or None."""
    if table.has_names:
        symbols = image.contents.listed
        return [symbols.get(entry.name) for entry in table.entries]
    places = image.contents.places or ()
    return (*places, *repeat(None, len(table.entries)))[: len(table.entries)]


def is_opaque(table: EntryTable, image: DeviceImage) -> bool:
    """Return whether the image hides its counterparts of the entries."""
    unplaced = not table.has_names and image.contents.places is None and image.kind != "elf"
    return image.contents.is_opaque or unplaced


def known_as(entry: OffloadEntry) -> str:
    """Return an entry's name, or the host symbol at its address; "" if it has neither."""
    return entry.name or entry.symbol or ""


def order_differences(table: EntryTable, image: DeviceImage) -> dict[str, str]:
    """Return the entries out of order: host name to the image's name in the same place.

    Only names in both tables count, so that a missing entry does not displace later ones. Names
    listed twice do not count, as regions in headers may be. GCC gives each entry the name that is
    registered for its place; the host's symbol names the intended one.
    """
    if table.abi == "gcc":
        named = ((on_gcc_device(e, image), e.name) for e in table.entries if e.symbol)
        return {name: host for host, name in named if host != name}
    ours, theirs = listed(table), [symbol.name for symbol in image.table or ()]
    if ours == theirs:
        return {}
    common = _once(ours) & _once(theirs)
    pairs = zip(_only(ours, common), _only(theirs, common), strict=True)
    return {host: device for host, device in pairs if host != device}


def listed(table: EntryTable) -> list[str]:
    """Return the names that images must list for a table, in order."""
    return [known_as(entry) for entry in table.entries if needs_device(entry)]


def _once(names: Iterable[str]) -> set[str]:
    return {name for name, count in Counter(names).items() if count == 1}


def on_gcc_device(entry: OffloadEntry, image: DeviceImage) -> str:
    """Return GCC's name of an entry in an image: links are pointers, and PTX has no dots."""
    name = (entry.symbol or "") + (".linkptr" if entry.kind == "link" else "")
    return name.replace(".", "$") if image.kind == "ptx" else name


def _only(names: Iterable[str], wanted: set[str]) -> list[str]:
    return [name for name in names if name in wanted]


def sizes(symbol: DeviceSymbol) -> set[int]:
    """Return the sizes that an image records for a global; empty if there are none."""
    return {size for size in (symbol.size, symbol.symbol_size) if size}


def has_kind(entry: OffloadEntry, symbol: DeviceSymbol) -> bool:
    """Return whether host and image agree that an entry is a kernel or a global."""
    return (symbol.symbol_kind or symbol.kind) == DEVICE_KINDS.get(entry.kind)


def has_size(entry: OffloadEntry, symbol: DeviceSymbol) -> bool:
    """Return whether host and image agree on the size of a global."""
    if DEVICE_KINDS.get(entry.kind) != "global":
        return True
    return sizes(symbol) <= {entry.size if entry.device_size is None else entry.device_size}


def entry_states(binary: FatBinary) -> list[tuple[EntryState, ...]]:
    """Return the state of each entry in each image, both in order."""
    result: list[tuple[EntryState, ...]] = []
    for table in binary.tables:
        columns = {index: _states(table, binary.images[index]) for index in table.images}
        unrelated: list[EntryState] = ["unrelated"] * len(table.entries)
        rows = zip(*(columns.get(image.index, unrelated) for image in binary.images), strict=True)
        result += rows if binary.images else [()] * len(table.entries)
    return result


def _states(table: EntryTable, image: DeviceImage) -> list[EntryState]:
    """Return the state of each entry of a table in one of its images."""
    if is_opaque(table, image):
        return ["unknown" if needs_device(entry) else "unrelated" for entry in table.entries]
    moved = order_differences(table, image)
    return [
        _state(entry, symbol, moved) if needs_device(entry) else "unrelated"
        for entry, symbol in zip(table.entries, counterparts(table, image), strict=True)
    ]


def _state(entry: OffloadEntry, symbol: DeviceSymbol | None, moved: dict[str, str]) -> EntryState:
    if symbol is None:
        return "missing"
    if not has_kind(entry, symbol):
        return "kind"
    if not has_size(entry, symbol):
        return "size"
    return "misordered" if known_as(entry) in moved else "present"
