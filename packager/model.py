"""What an offload file holds, as data: produced by formats, read by checks and renderers. No I/O.

Numbers are bytes; offsets are file offsets; addresses are virtual addresses, in a relocatable
object None. Strings are as the file spells them, except triples, which are normalised.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ImageKind = Literal["elf", "ptx", "cubin", "fatbin", "bitcode", "spirv", "amdgcn", "unknown"]
EntryKind = Literal["kernel", "global", "link", "ctor", "dtor", "indirect", "requires"]
# How an entry stands in one image.
EntryState = Literal["present", "missing", "misordered", "size", "kind", "unknown"]
Abi = Literal["interface", "llvm-14", "llvm-16", "llvm-19", "llvm-22", "proposal"]


@dataclass(frozen=True)
class DeviceSymbol:
    """A kernel or global variable that a device image defines for the host to find."""

    name: str
    kind: Literal["kernel", "global"]
    size: int  # bytes of a global; 0 for a kernel
    address: int | None = None  # in the image, where it has addresses


@dataclass(frozen=True)
class DeviceImage:
    """One device image in a host file, described from its bytes."""

    index: int
    container: str  # "omptool", "offload-binary", "bare"
    kind: ImageKind  # from the bytes
    triple: str  # as declared by the container, normalised; "" when nothing declares one
    arch: str  # as declared by the container
    offset: int
    size: int
    address: int | None
    machine: str | None = None  # what the bytes are code for, e.g. "x86_64", "nvptx64", "amdgcn"
    byte_arch: str | None = None  # arch as the bytes say, e.g. PTX .target "sm_70"
    symbols: tuple[DeviceSymbol, ...] = ()
    table: tuple[DeviceSymbol, ...] | None = None  # the image's own entry table, in its order
    sha256: str | None = None
    member: str | None = None  # archive member
    problem: str | None = None  # why the bytes could not be read as what they claim to be
    problem_at: int | None = None  # file offset of that fault


@dataclass(frozen=True)
class OffloadEntry:
    """One record of the host's entry table."""

    index: int
    kind: EntryKind
    name: str
    address: int | None  # of the host function or variable
    symbol: str | None  # host symbol at that address, when the file still has one
    size: int
    flags: int | None  # None in generations without flags
    offset: int | None = None  # of the record


@dataclass(frozen=True)
class EntryTable:
    """A host section of entry records."""

    section: str | None  # None in a file without section headers
    abi: Abi
    record_size: int
    offset: int
    size: int  # bytes of the section
    address: int | None
    entries: tuple[OffloadEntry, ...]


@dataclass(frozen=True)
class Descriptor:
    """A __tgt_bin_desc."""

    address: int | None
    offset: int
    images: tuple[int, ...]  # DeviceImage.index, in descriptor order
    entries_begin: int | None  # None: an unresolved __start_ symbol, as in an object file
    entries_end: int | None
    registered_by: str | None  # "_GLOBAL__A_000000_OPENMPTGT", ".init_array[0]", …; None: nobody


@dataclass(frozen=True)
class FatBinary:
    """Everything about offloading that one host file (or bare image) says."""

    path: str
    machine: str | None  # of the host, e.g. "x86_64"; None for a bare image
    type: str | None  # "object", "executable", "shared", None
    abi: Abi | None
    images: tuple[DeviceImage, ...]
    tables: tuple[EntryTable, ...]
    descriptors: tuple[Descriptor, ...]
    imports: tuple[str, ...] = ()  # versioned undefined __tgt_* names, e.g. "__tgt_register_lib@OMPTARGET_4.5"

    @property
    def entries(self) -> tuple[OffloadEntry, ...]:
        return tuple(entry for table in self.tables for entry in table.entries)

    @property
    def is_empty(self) -> bool:
        return not (self.images or self.tables or self.descriptors)


@dataclass(frozen=True)
class Finding:
    """What a check has to say: code and severity never change their meaning."""

    code: str
    severity: Literal["error", "warning", "info"]
    message: str
    hint: str
    entry: int | None = None  # OffloadEntry.index
    image: int | None = None  # DeviceImage.index
