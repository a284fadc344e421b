# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The entry table that an image carries: {addr, name, size} records in `omptarget_entries`."""

from __future__ import annotations

from collections.abc import Sequence

from packager.layouts import ENTRIES_SECTION
from packager.lowering.rewriting.ir_text import c_string, symbol
from packager.records import NamedTuple

_TABLE = "@.omptool.entries"


class Entry(NamedTuple):
    """A kernel or global that the host can name."""

    name: str
    size: int  # bytes of a global; 0 for a kernel
    address_space: int = 0

    @property
    def is_kernel(self) -> bool:
        return self.size == 0


def table_text(entries: Sequence[Entry]) -> str:
    """Return a module that holds the table of `entries`, to link into the one that defines them.

    llvm.used gives the section SHF_GNU_RETAIN, so that it survives --gc-sections.
    """
    lines = []
    records = []
    for index, entry in enumerate(entries):
        type_, value = c_string(entry.name)
        name = f"@.omptool.name.{index}"
        lines.append(_declaration(entry))
        lines.append(f"{name} = private unnamed_addr constant {type_} {value}, align 1")
        records.append(f"{{ ptr, ptr, i64 }} {{ {_address(entry)}, ptr {name}, i64 {entry.size} }}")
    table = f"[{len(records)} x {{ ptr, ptr, i64 }}] [{', '.join(records)}]"
    lines.append(f'{_TABLE} = internal constant {table}, section "{ENTRIES_SECTION}", align 8')
    lines.append(f'@llvm.used = appending global [1 x ptr] [ptr {_TABLE}], section "llvm.metadata"')
    return "\n".join(lines) + "\n"


def _space(entry: Entry) -> str:
    return f" addrspace({entry.address_space})" if entry.address_space else ""


def _declaration(entry: Entry) -> str:
    if entry.is_kernel:
        return f"declare void {symbol(entry.name)}()"
    return f"{symbol(entry.name)} = external{_space(entry)} global i8"


def _address(entry: Entry) -> str:
    if entry.address_space:
        return f"ptr addrspacecast (ptr{_space(entry)} {symbol(entry.name)} to ptr)"
    return f"ptr {symbol(entry.name)}"
