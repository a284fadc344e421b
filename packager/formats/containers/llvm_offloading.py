# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Read `.llvm.offloading`: clang's images since LLVM 15, as consecutive OffloadBinaries.

A relocatable link moves them to `.llvm.offloading.relocatable`.
"""

from __future__ import annotations

from collections.abc import Iterator

from packager.elf.headers import Section
from packager.files.reader import Reader
from packager.formats.containers.offload_binary import MAGIC, parse
from packager.formats.containers.payload import Payload

NAME = "offload-binary"
SHT_LLVM_OFFLOADING = 0x6FFF4C0B
NAMES = (".llvm.offloading", ".llvm.offloading.relocatable")
# LLVM 14's new driver: .llvm.offloading.<triple>.<arch>.<file>, the image itself
OLD_PREFIX = ".llvm.offloading."


def claims(section: Section) -> bool:
    """Return whether a section is of this format: by type, or by name if objcopy lost that."""
    return section.type == SHT_LLVM_OFFLOADING or section.name.startswith(NAMES)


def parse_section(section: Section, data: Reader) -> Iterator[Payload]:
    """Yield the images of a section. Raises FormatError if it is malformed."""
    if data.starts_with(MAGIC) or section.name in NAMES:
        yield from parse(data)
    elif section.size:
        triple, arch, *_ = (*section.name[len(OLD_PREFIX) :].split("."), "")
        yield Payload(data, triple, arch)
