"""Offload code in forms that are recognised by name but not read: better said than overlooked."""

from __future__ import annotations

from collections.abc import Iterator

from packager.elf import Elf
from packager.formats.llvm_offloading import SHT_LLVM_OFFLOADING
from packager.reader import Reader

# Beginnings of section names that only offload code has, and whose they are.
SECTIONS = {
    "__CLANG_OFFLOAD_BUNDLE__": "a clang-offload-bundler bundle",
    "llvm_offload_entries": "offload entries of LLVM 21 or later",
    "omp_offloading_entries_": "offload entries of a relocatable link by clang",
    ".omp_offloading.entries": "offload entries of LLVM 9 or earlier",
    ".llvm.offloading.": "device images of LLVM 14's new driver or of a relocatable link",
    "cuda_offloading_entries": "CUDA entries of clang",
    "hip_offloading_entries": "HIP entries of clang",
    ".hip_fatbin": "a HIP fat binary",
    ".hipFatBinSegment": "a HIP fat binary",
    ".nv_fatbin": "a CUDA fat binary",
    ".nvFatBinSegment": "a CUDA fat binary",
    "__nv_relfatbin": "a CUDA fat binary",
    ".gnu.offload_": "GCC's offload tables or intermediate code",
    ".tgtimg": "device images of Intel's compiler",
}
# Beginnings of files.
MAGICS = {
    b"__CLANG_OFFLOAD_BUNDLE__": "a clang-offload-bundler bundle",
    b"CCOB": "a compressed clang-offload-bundler bundle",
    b"!<arch>\n": "an archive",
    b"!<thin>\n": "a thin archive",
}


def traces(elf: Elf) -> Iterator[str]:
    """What a host file holds and this version does not read, once for each section."""
    for section in elf.sections:
        is_read = section.type == SHT_LLVM_OFFLOADING  # whatever it is called
        for prefix, what in SECTIONS.items() if section.size and not is_read else ():
            if section.name.startswith(prefix):
                yield f"section {section.name} is {what}, which this version does not read"


def file_kind(data: Reader) -> str | None:
    """What the file as a whole is, if it is one of these."""
    return next((what for magic, what in MAGICS.items() if data.starts_with(magic)), None)
