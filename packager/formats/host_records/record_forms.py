# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Find the ABI of a descriptor's records (DECISIONS 14).

It follows from the name of the entries' section, then from the version of `__tgt_register_lib` that
the file imports, then from the records themselves: from the offsets of their relocated pointers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from packager.elf.address_space import MAX_WINDOW, Space, read_window
from packager.elf.relocated import Range, Window
from packager.errors import FormatError
from packager.formats.host_records.entries import FoundTable, expected, is_versioned
from packager.layouts import (
    CLASSIC_ENTRY,
    INTERFACE_ENTRY,
    PROPOSAL_ENTRY,
    PROPOSAL_REGISTER,
    REGISTER,
    VERSIONED_ENTRY,
    EntryLayout,
)
from packager.patterns import pattern

BY_VERSION = {
    REGISTER: INTERFACE_ENTRY,
    PROPOSAL_REGISTER: PROPOSAL_ENTRY,
    "__tgt_register_lib@VERS1.0": CLASSIC_ENTRY,
}
BEGIN_SYMBOL = "__start_"
NAME = pattern(r"[\w.$]+")


class RecordForms:
    """Decides for the descriptors of one file."""

    def __init__(
        self,
        space: Space,
        tables: Sequence[FoundTable],
        imports: Iterable[str],
        *,
        by_contents: bool = True,
    ) -> None:
        self._space = space
        self._reads = by_contents
        self._sections = {table.bounds[0]: table.layout for table in tables}
        versions = {BY_VERSION[name] for name in imports if name in BY_VERSION}
        self._version = versions.pop() if len(versions) == 1 else None

    def entries(self, begin: int | None, end: int | None, symbol: str | None) -> EntryLayout | None:
        """Return the layout of the records between `begin` and `end`; None if it is unknown.

        `symbol` is the name that an object has for `begin`.
        """
        if begin is None or end is None:
            section = (symbol or "").removeprefix(BEGIN_SYMBOL)
            return expected(section) or self._version
        return self._sections.get(begin) or self._version or self._by_contents(begin, end)

    def _by_contents(self, begin: int, end: int) -> EntryLayout | None:
        window = _window(self._space, begin, end) if self._reads else None
        if window is None:
            return None
        if is_versioned(window):
            return VERSIONED_ENTRY
        for layout in (INTERFACE_ENTRY, CLASSIC_ENTRY):
            if self._has_names(window, layout):
                return layout
        return PROPOSAL_ENTRY if _has_sizes(window) else None

    def _has_names(self, table: Window, layout: EntryLayout) -> bool:
        """Return whether every record has a pointer into the file where its name should be."""
        if layout.name is None or len(table.data) % layout.record:
            return False
        places = range(layout.name, len(table.data), layout.record)
        if table.has_relocations:
            return all(table.is_relocated(at) for at in places)
        return all(self._is_name(table.pointer(at)) for at in places)

    def _is_name(self, address: int | None) -> bool:
        """Return whether the string there can be a symbol's name."""
        offset = self._space.offset(address) if address else None
        if offset is None:
            return False
        try:
            return NAME.fullmatch(self._space.elf.data.string(offset, "name")) is not None
        except FormatError:
            return False


def is_nameless(space: Space, begin: int | None, end: int | None) -> bool:
    """Return whether the bytes between can be records of 2013."""
    window = _window(space, begin or 0, end or 0)
    return window is not None and _has_sizes(window)


def _window(space: Space, begin: int, end: int) -> Window | None:
    size = end - begin
    if not 0 < size <= MAX_WINDOW or space.offset(begin, size) is None:
        return None
    return read_window(space, Range(begin, size, "table of offload entries"))


def _has_sizes(table: Window) -> bool:
    """Return whether every record has a size that is no pointer, and padding behind it."""
    layout = PROPOSAL_ENTRY
    if len(table.data) % layout.record:
        return False
    sizes = range(layout.size, len(table.data), layout.record)
    return all(not table.is_relocated(at) and table.word(at) < 1 << 31 for at in sizes)
