"""Offload code in forms that are recognised by name but not read: better said than overlooked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from packager.elf.headers import Elf, Section
from packager.formats.containers.llvm_offloading import SHT_LLVM_OFFLOADING

# Beginnings of section names that only offload code has, and whose they are.
SECTIONS = {
    ".omp_offloading.entries": "offload entries of LLVM 9 or earlier",
    ".gnu.offload_lto_": "GCC's intermediate code for a device",
}
# In COFF files sections of entries are sorted by what follows a "$"; linkers cut their names off.
COFF_ENTRIES = ("omp_offloading_entries", "llvm_offload_entries")
COFF_SHORT = tuple(name[:8] for name in COFF_ENTRIES)


def traces(elf: Elf) -> Iterator[str]:
    """What a host file holds and this version does not read, once for each section."""
    for section in elf.sections:
        is_read = section.type == SHT_LLVM_OFFLOADING  # whatever it is called
        for prefix, what in SECTIONS.items() if section.size and not is_read else ():
            if section.name.startswith(prefix):
                yield f"section {section.name} is {what}, which this version does not read"


def coff_traces(sections: Sequence[Section]) -> Iterator[str]:
    """The same of a COFF file, whose entries are not read: once for all its parts."""
    found = {
        section.name.partition("$")[0]
        for section in sections
        if section.size and (section.name.startswith(COFF_ENTRIES) or section.name in COFF_SHORT)
    }
    for name in sorted(found):
        yield f"section {name} has entries in a COFF file, which this version does not read"
