# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The function that device code of clang 23 and later calls before each virtual call.

It turns the address of a virtual table, or of a function, of the host into that of the device. On a
CPU both are the same. GPUs have it in clang's device library; for CPUs no release of LLVM's runtime
up to 23 exports it, and images are linked with everything defined.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from packager.elf.headers import SHT_PROGBITS, STT_FUNC
from packager.host_machines import MACHINES
from packager.linking.inputs import Part, device_symbols, unused
from packager.triples import code_of
from packager.writers.elf_types import (
    SHF_ALLOC,
    SHF_EXECINSTR,
    SHT_NOTE,
    STB_WEAK,
    STV_HIDDEN,
    Section,
    Symbol,
)
from packager.writers.host_object import blank_host
from packager.writers.object_writer import write_object

LOOKUP = "__llvm_omp_indirect_call_lookup"
# `void *lookup(void *address) { return address; }` by machine, as a target of indirect branches.
CODE = {
    "x86_64": bytes.fromhex("f30f1efa4889f8c3"),  # endbr64; mov rax,rdi; ret
    "aarch64": bytes.fromhex("5f2403d5c0035fd6"),  # bti c; ret
}
ALIGNMENT = 16


def is_called(parts: Iterable[Part]) -> bool:
    """Return whether device objects of one target call the function, and none defines it."""
    missing: set[str] = set()
    found: set[str] = set()
    for part in parts:
        undefined, defined = device_symbols(part)
        missing |= undefined
        found |= defined
    return LOOKUP in missing - found


def written(triple: str, folder: Path) -> list[Path]:
    """An object in `folder` that defines the function for its own image, and gives way to another
    definition; none for a machine whose code is not known here.
    """
    machine = MACHINES.get(code_of(triple))
    if machine is None:
        return []
    code = CODE[machine.name]
    sections = (
        Section(".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, ALIGNMENT, (code,)),
        Section(".note.gnu.property", SHT_NOTE, SHF_ALLOC, 8, (machine.note,)),
        Section(".note.GNU-stack", SHT_PROGBITS, 0, 1),
    )
    function = Symbol(LOOKUP, 0, 0, len(code), STT_FUNC, STB_WEAK, STV_HIDDEN)
    path = unused(folder, "indirect_calls.o")
    with path.open("wb") as file:
        write_object(file, blank_host(machine), sections, [function])
    return [path]
