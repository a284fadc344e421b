"""How the host's entries stand in each device image: by name, kind, size and order."""

from __future__ import annotations

from collections.abc import Iterable
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

# What an entry of each kind is on the device; one that requires a feature has no counterpart.
DEVICE_KINDS: dict[EntryKind, Literal["kernel", "global"]] = {
    "kernel": "kernel",
    "ctor": "kernel",
    "dtor": "kernel",
    "global": "global",
    "link": "global",  # the pointer to the variable
    "indirect": "global",  # the pointer to the function
}


def needs_device(entry: OffloadEntry) -> bool:
    """Whether images must define the entry."""
    return entry.model == "openmp" and entry.kind in DEVICE_KINDS


def listed(image: DeviceImage) -> dict[str, DeviceSymbol]:
    """The symbols of an image that count as entries, by name."""
    return {symbol.name: symbol for symbol in reversed(image.symbols) if symbol.listed}


def order_differences(table: EntryTable, image: DeviceImage) -> dict[str, str]:
    """Host name to the name that the image's own table has in its place.

    Only names in both tables count, so that a missing entry does not displace those after it.
    """
    ours = list(dict.fromkeys(entry.name for entry in table.entries if needs_device(entry)))
    theirs = list(dict.fromkeys(symbol.name for symbol in image.table or ()))
    common = set(ours) & set(theirs)
    pairs = zip(_only(ours, common), _only(theirs, common), strict=True)
    return {host: device for host, device in pairs if host != device}


def _only(names: Iterable[str], wanted: set[str]) -> list[str]:
    return [name for name in names if name in wanted]


def sizes(symbol: DeviceSymbol) -> set[int]:
    """The sizes that an image gives a global; none where it does not say."""
    return {size for size in (symbol.size, symbol.symbol_size) if size}


def has_kind(entry: OffloadEntry, symbol: DeviceSymbol) -> bool:
    """Whether host and image agree that an entry is a kernel or a global."""
    return (symbol.symbol_kind or symbol.kind) == DEVICE_KINDS.get(entry.kind)


def has_size(entry: OffloadEntry, symbol: DeviceSymbol) -> bool:
    """Whether host and image agree on the size of a global."""
    if DEVICE_KINDS.get(entry.kind) != "global":
        return True
    return sizes(symbol) <= {entry.size}


def entry_states(binary: FatBinary) -> list[tuple[EntryState, ...]]:
    """For each entry of the file, in order, how it stands in each image, in order."""
    symbols = [listed(image) for image in binary.images]
    result = []
    for table in binary.tables:
        moved = {i: order_differences(table, binary.images[i]) for i in table.images}
        for entry in table.entries:
            states: list[EntryState] = []
            for image in binary.images:
                if image.index not in moved or not needs_device(entry):
                    states.append("unrelated")
                else:
                    found = symbols[image.index].get(entry.name)
                    states.append(_state(entry, image, found, moved[image.index]))
            result.append(tuple(states))
    return result


def _state(
    entry: OffloadEntry, image: DeviceImage, symbol: DeviceSymbol | None, moved: dict[str, str]
) -> EntryState:
    if image.contents.is_opaque:
        return "unknown"
    if symbol is None:
        return "missing"
    if not has_kind(entry, symbol):
        return "kind"
    if not has_size(entry, symbol):
        return "size"
    return "misordered" if entry.name in moved else "present"
