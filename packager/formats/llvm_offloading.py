"""`.llvm.offloading`: clang's images since LLVM 15, OffloadBinaries back to back."""

from __future__ import annotations

from packager.elf import Section
from packager.formats.offload_binary import parse

NAME = "offload-binary"
SHT_LLVM_OFFLOADING = 0x6FFF4C0B

__all__ = ["NAME", "claims", "parse"]


def claims(section: Section) -> bool:
    """Whether a section is of this format: by type, or by name where objcopy lost the type."""
    return section.type == SHT_LLVM_OFFLOADING or section.name == ".llvm.offloading"
