# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The function that device code of clang 23 and later calls before each virtual call.

The function translates the host's address of a virtual table or function to the device's. On
the host's CPU both are the same; on a worker's, the worker has the function (runtime/worker). GPUs
have it in clang's device library; for CPUs no release of LLVM's runtime up to 23 exports it, and
images are linked with everything defined.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from packager.elf.headers import SHT_PROGBITS, STT_FUNC
from packager.files.temporary import unused
from packager.host_machines import MACHINES
from packager.linking.inputs import Part, device_symbols
from packager.records import NamedTuple
from packager.triples import code_of
from packager.writers.elf_types import (
    SHF_ALLOC,
    SHF_EXECINSTR,
    SHT_NOTE,
    STB_WEAK,
    STV_HIDDEN,
    Relocation,
    Section,
    Symbol,
)
from packager.writers.host_object import blank_host
from packager.writers.object_writer import write_object

LOOKUP = "__llvm_omp_indirect_call_lookup"
WORKERS = "omptool_own_address"


class _Code(NamedTuple):
    """`void *lookup(void *p) { return workers ? workers(p) : p; }`, a target of indirect branches.

    The image's global offset table has the address of `workers`, or 0 if no worker defines it.
    """

    words: str
    relocations: tuple[Relocation, ...]

    @property
    def bytes(self) -> bytes:
        return bytes.fromhex(self.words)


CODE = {
    "x86_64": _Code(
        "f30f1efa"  # endbr64
        "488b0500000000"  # mov rax, [rip + workers@GOTPCREL]
        "4885c0"  # test rax, rax
        "7402"  # jz over the next
        "ffe0"  # jmp rax
        "4889f8"  # mov rax, rdi
        "c3",  # ret
        (Relocation(7, WORKERS, 9, -4),),  # R_X86_64_GOTPCREL
    ),
    "aarch64": _Code(
        "5f2403d5"  # bti c
        "10000090"  # adrp x16, :got:workers
        "100240f9"  # ldr x16, [x16, :got_lo12:workers]
        "500000b4"  # cbz x16, over the next
        "00021fd6"  # br x16
        "c0035fd6",  # ret
        # R_AARCH64_ADR_GOT_PAGE, R_AARCH64_LD64_GOT_LO12_NC
        (Relocation(4, WORKERS, 311), Relocation(8, WORKERS, 312)),
    ),
}
ALIGNMENT = 16


def is_called(parts: Iterable[Part]) -> bool:
    """Return whether device objects of one target call the function, and none defines it."""
    missing: set[str] = set()
    found: set[str] = set()
    for part in [part for part in parts if part.holds(LOOKUP.encode())]:
        undefined, defined = device_symbols(part)
        missing |= undefined
        found |= defined
    return LOOKUP in missing - found


def written(triple: str, folder: Path) -> list[Path]:
    """Write an object to `folder` that defines the function for its own image, weakly.

    Return no file for a machine whose code is not known here.
    """
    machine = MACHINES.get(code_of(triple))
    if machine is None:
        return []
    code = CODE[machine.name]
    sections = (
        Section(
            ".text",
            SHT_PROGBITS,
            SHF_ALLOC | SHF_EXECINSTR,
            ALIGNMENT,
            (code.bytes,),
            code.relocations,
        ),
        Section(".note.gnu.property", SHT_NOTE, SHF_ALLOC, 8, (machine.note,)),
        Section(".note.GNU-stack", SHT_PROGBITS, 0, 1),
    )
    function = Symbol(LOOKUP, 0, 0, len(code.bytes), STT_FUNC, STB_WEAK, STV_HIDDEN)
    workers = Symbol(WORKERS, binding=STB_WEAK)
    path = unused(folder, "indirect_calls.o")
    with path.open("wb") as file:
        write_object(file, blank_host(machine), sections, [function, workers])
    return [path]
