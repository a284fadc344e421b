# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The C structs of every generation, as data: a new generation is a new row here.

Little endian, LP64. Sources: libomptarget-interface.tex, offload-infrastructure-proposal.txt, and
clang's output as measured.
"""

from __future__ import annotations

from struct import Struct
from typing import Literal

from packager.generations import GENERATIONS, Generation, GenerationName
from packager.records import NamedTuple


class EntryLayout(NamedTuple):
    """The layout of a generation's entry record: offsets in bytes, None for a field it lacks."""

    generation: str
    record: int
    address: int
    name: int | None
    size: int
    size_format: str  # type code of array and struct
    flags: int | None
    model: int | None = None  # u16: which programming model the entry is of
    data: int | None = None  # u32 that is looked at: the mask of a requires entry
    version: int | None = None  # u16: 1


# {void *address; int size} of the proposal of 2013, padded: entries without names.
PROPOSAL_ENTRY = EntryLayout("proposal", 16, 0, None, 8, "i", None)
# {void *addr; char *name; int64_t size} of the interface document.
INTERFACE_ENTRY = EntryLayout("interface", 24, 0, 8, 16, "q", None)
# {void *addr; char *name; int64_t size; int32_t flags; int32_t data}: LLVM 4 to 19.
CLASSIC_ENTRY = EntryLayout("classic", 32, 0, 8, 16, "Q", 24, None, 28)
# {u64 reserved; u16 version, kind; u32 flags; ptr address, name; u64 size, data; ptr aux}:
# LLVM 20 on.
VERSIONED_ENTRY = EntryLayout("versioned", 56, 16, 24, 32, "Q", 12, 10, 40, 8)

# LLVM's records by size, which a generation has.
LLVM_ENTRIES = {layout.record: layout for layout in (CLASSIC_ENTRY, VERSIONED_ENTRY)}

# {void *ImageStart, *ImageEnd; entry *EntriesBegin, *EntriesEnd}
DEVICE_IMAGE = Struct("<QQQQ")
# The proposal's {void *ImageStart, *ImageEnd}
PROPOSAL_IMAGE = Struct("<QQ")
# {uint32_t NumDevices; padding; image *DeviceImages; entry *EntriesBegin, *EntriesEnd}
BIN_DESC = Struct("<IIQQQ")


class SyclBinaries(NamedTuple):
    """`sycl_device_binaries_struct`: u16 version, u16 count, then pointers; offsets in bytes."""

    version: int
    size: int
    records: int  # the pointer to them


class SyclBinary(NamedTuple):
    """`sycl_device_binary_struct`: u16 version, u8 kind, u8 format, then pointers."""

    version: int
    size: int
    target: int
    image: int  # offset of the begin, which the end follows
    kinds: tuple[int, ...] = (4, 8)  # Intel's, and LLVM's own since version 21


SYCL_BINARIES = SyclBinaries(version=1, size=32, records=8)
# SYCL's records by version; up to version 2 the bounds of a manifest precede those of the image.
SYCL_BINARY = {
    1: SyclBinary(version=1, size=96, target=8, image=48),
    2: SyclBinary(version=2, size=96, target=8, image=48),
    3: SyclBinary(version=3, size=80, target=8, image=32),
}

# Section names that omptool writes (DECISIONS 13, 14).
ENTRIES_SECTION = "omptarget_entries"
IMAGE_SECTION_PREFIX = ".omptool.image."
REGISTER = "__tgt_register_lib@OMPTARGET_4.5"
UNREGISTER = "__tgt_unregister_lib@OMPTARGET_4.5"
PROPOSAL_ENTRIES_SECTION = "libtarget_entries"
PROPOSAL_REGISTER = "__tgt_register_lib@LIBTARGET_2013"
PROPOSAL_UNREGISTER = "__tgt_unregister_lib@LIBTARGET_2013"
REGISTRATION_FUNCTION = "_GLOBAL__A_000000_OPENMPTGT"
UNREGISTRATION_FUNCTION = "_GLOBAL__D_000000_OPENMPTGT"
# LLVM's function; an unversioned reference binds to VERS1.0 of its runtime and of omptool's.
REQUIRES = "__tgt_register_requires"

AbiName = Literal["interface", "proposal", GenerationName]


class WrittenAbi(NamedTuple):
    """The form of a wrapper in one of the ABIs that this project writes."""

    name: AbiName
    hosts: str  # how hosts are made
    remedy: str  # how they come by a table of entries
    entries_section: str
    entry: EntryLayout
    image: Struct
    register: str
    unregister: str
    functions: tuple[str, str]  # functions of the wrapper that call them
    priority: int = 0  # priority of the constructor
    is_wrapped: bool = False  # the runtime is given the OffloadBinary around an image
    at_exit: bool = False  # unregistered through atexit, not .fini_array
    requires: str | None = None  # who is told of `requires` clauses, if not an entry
    generation: Generation | None = None  # LLVM's generation

    @property
    def container_version(self) -> int:
        """Return the version of the OffloadBinaries around images (DECISIONS 13)."""
        return max(1, self.generation.container_version) if self.generation else 1

    @property
    def is_llvm(self) -> bool:
        """Return whether hosts are compiled by clang."""
        return self.generation is not None


def _documents(
    name: AbiName, header: str, section: str, entry: EntryLayout, image: Struct, calls: str
) -> WrittenAbi:
    return WrittenAbi(
        name,
        f"written with {header}",
        f"use the macros of {header}",
        section,
        entry,
        image,
        f"__tgt_register_lib@{calls}",
        f"__tgt_unregister_lib@{calls}",
        (REGISTRATION_FUNCTION, UNREGISTRATION_FUNCTION),
    )


def _llvm(row: Generation) -> WrittenAbi:
    at_exit = row.registration == "at_exit"
    return WrittenAbi(
        row.name,
        f"compiled by clang {row.releases}",
        "compile it with -fopenmp-targets=",
        row.entries_section,
        LLVM_ENTRIES[row.record_size],
        DEVICE_IMAGE,
        "__tgt_register_lib",
        "__tgt_unregister_lib",
        (".omp_offloading.descriptor_reg", ".omp_offloading.descriptor_unreg"),
        101 if at_exit else 1,
        row.is_wrapped,
        at_exit,
        None if at_exit else REQUIRES,
        row,
    )


WRITTEN: dict[str, WrittenAbi] = {
    abi.name: abi
    for abi in (
        _documents(
            "interface",
            "omptarget.h",
            ENTRIES_SECTION,
            INTERFACE_ENTRY,
            DEVICE_IMAGE,
            "OMPTARGET_4.5",
        ),
        _documents(
            "proposal",
            "libtarget.h",
            PROPOSAL_ENTRIES_SECTION,
            PROPOSAL_ENTRY,
            PROPOSAL_IMAGE,
            "LIBTARGET_2013",
        ),
        *map(_llvm, GENERATIONS),
    )
}
