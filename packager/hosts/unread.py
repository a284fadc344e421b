# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Report offload code in forms that are recognised by name but not read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from packager.elf.headers import Elf, Section
from packager.formats.containers.llvm_offloading import SHT_LLVM_OFFLOADING
from packager.formats.host_records import entries, fatbin_wrappers

# Prefixes of section names that only offload code has, with its owner.
SECTIONS = {
    ".omp_offloading.entries": "offload entries of LLVM 9 or earlier",
    ".gnu.offload_lto_": "GCC's intermediate code for a device",
}
# COFF linkers sort sections of entries by the text after "$", and cut their names off.
ENTRIES = dict.fromkeys(entries.SECTIONS, "entries")
REGISTRATIONS = dict.fromkeys(fatbin_wrappers.SECTIONS, "registrations of images")
CUT = 8


def traces(elf: Elf) -> Iterator[str]:
    """Yield a sentence for each section of a host file that this version does not read."""
    for section in elf.sections:
        is_read = section.type == SHT_LLVM_OFFLOADING  # whatever it is called
        for prefix, what in SECTIONS.items() if section.size and not is_read else ():
            if section.name.startswith(prefix):
                yield f"section {section.name} is {what}, which this version does not read"


def coff_traces(sections: Sequence[Section], *, has_images: bool) -> Iterator[str]:
    """Yield a warning for each section of unread offload code in a COFF file.

    With `has_images`, registrations do not count: the images that they register are known.
    """
    found = {
        section.name.partition("$")[0]: what
        for section in sections
        for name, what in (ENTRIES if has_images else ENTRIES | REGISTRATIONS).items()
        if section.size and (section.name.startswith(name) or section.name == name[:CUT])
    }
    for name, what in sorted(found.items()):
        yield f"section {name} has {what} in a COFF file, which this version does not read"
