"""Offload code in forms that are recognised by name but not read: better said than overlooked."""

from __future__ import annotations

from collections.abc import Iterator

from packager.elf.headers import Elf
from packager.formats.containers.llvm_offloading import SHT_LLVM_OFFLOADING

# Beginnings of section names that only offload code has, and whose they are.
SECTIONS = {
    ".omp_offloading.entries": "offload entries of LLVM 9 or earlier",
    ".gnu.offload_lto_": "GCC's intermediate code for a device",
}


def traces(elf: Elf) -> Iterator[str]:
    """What a host file holds and this version does not read, once for each section."""
    for section in elf.sections:
        is_read = section.type == SHT_LLVM_OFFLOADING  # whatever it is called
        for prefix, what in SECTIONS.items() if section.size and not is_read else ():
            if section.name.startswith(prefix):
                yield f"section {section.name} is {what}, which this version does not read"
