# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Clang's mask of the `#pragma omp requires` directives of an object."""

from __future__ import annotations

from collections.abc import Iterable

from packager.elf import headers
from packager.host_machines import MACHINES
from packager.model import OffloadEntry

# Requirements that all objects with device constructs must share (OpenMP 5.2, 8.2).
FOR_ALL = {0x2: "reverse_offload", 0x4: "unified_address", 0x8: "unified_shared_memory"}
# Constructor that passes the mask to the runtime, up to clang 18; since then an entry has it.
TELLS = ".omp_offloading.requires_reg"


def of_object(elf: headers.Elf, entries: Iterable[OffloadEntry]) -> int | None:
    """Return the `requires` mask of an object, limited to FOR_ALL; 0 if it requires nothing.

    Return None if the object has code for it that is not understood.
    """
    mask = 0
    for entry in entries:
        if entry.kind == "requires":
            mask |= entry.data
    told = mask or _told(elf)
    return None if told is None else told & sum(FOR_ALL)


def _told(elf: headers.Elf) -> int | None:
    for table in elf.of_type(headers.SHT_SYMTAB):
        names = elf.strings(table.link, "symbol names")
        for symbol in elf.symbols(table):
            is_local = symbol.binding == headers.STB_LOCAL and symbol.type == headers.STT_FUNC
            is_here = is_local and 0 < symbol.section < len(elf.sections)
            if is_here and names[symbol.name_at] == TELLS:
                code = elf.content(elf.sections[symbol.section])
                function = code.slice(symbol.value, symbol.size, TELLS).bytes()
                machine = MACHINES.get(elf.machine)
                return machine.reader.argument(function, 0) if machine else None
    return 0
