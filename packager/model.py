# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The records of an offload file: formats build them, checks and renderers read them. No I/O.

Numbers are bytes; offsets are file offsets; addresses are virtual addresses, in a relocatable
object None. Strings are as the file spells them, except triples, which are normalised.
"""

from __future__ import annotations

from functools import cached_property
from typing import Literal

from packager.generations import GenerationName
from packager.records import NamedTuple

ImageKind = Literal[
    "elf", "ptx", "cubin", "fatbin", "bitcode", "spirv", "amdgcn", "zebin", "tileir", "unknown"
]
EntryKind = Literal["kernel", "global", "link", "ctor", "dtor", "indirect", "requires"]
# Programming model of an entry; since LLVM 21 one table holds all models.
Model = Literal["openmp", "cuda", "hip", "sycl", "other"]
# State of an entry in one image. "unknown": the image's symbols are not readable (bitcode, …).
# "unrelated": the entry needs nothing in this image, or the image belongs to another table.
EntryState = Literal["present", "missing", "misordered", "size", "kind", "unknown", "unrelated"]
Severity = Literal["error", "warning", "info"]
Abi = Literal["interface", GenerationName, "proposal", "gcc"]
# Containers declare one of these where they mean no architecture.
NO_ARCH = ("", "generic", "native")
UNKNOWN_PROCESSOR = "unknown processor"  # arch of a newer image, followed by its number


class Resources(NamedTuple):
    """Resources that a kernel needs on a GPU; None for those that the image does not record."""

    registers: int | None  # per thread; AMD's vector registers
    shared: int | None  # per team, without memory requested at the launch
    stack: int | None  # per thread
    scalar_registers: int | None = None  # AMD's, as those below
    accumulators: int | None = None  # AGPRs, where the processor has them
    vector_spills: int | None = None  # stores of registers for which there was no room
    scalar_spills: int | None = None


class SourcePlace(NamedTuple):
    """The place of a function's declaration, by debug information."""

    file: str
    line: int | None


class DeviceSymbol(NamedTuple):
    """A kernel or global variable that a device image defines for the host to find."""

    name: str
    kind: Literal["kernel", "global"]
    size: int  # bytes of a global; 0 for a kernel, or where the image does not say
    symbol_kind: Literal["kernel", "global"] | None = None  # from the symbol table
    symbol_size: int = 0  # size of a global in the symbol table, if known
    listed: bool = True  # False: exported, but not in the entry table that the image carries
    address: int | None = None  # address in a linked image loaded at 0
    resources: Resources | None = None  # a kernel's resources
    code: tuple[int, int] | None = None  # a kernel's file offset and size in an ELF image
    source: SourcePlace | None = None  # a kernel's source, if debug information was read
    # False: a function in a CPU's bitcode, which is a kernel only if the host has an entry of its
    # name.
    is_told: bool = True


ElfForm = Literal["shared object", "relocatable object", "executable", "ELF file of another type"]


class Links(NamedTuple):
    """Symbols and libraries that an ELF image needs."""

    undefined: tuple[str, ...] = ()  # symbols, without weak ones
    needed: tuple[str, ...] = ()  # DT_NEEDED
    search: tuple[str, ...] = ()  # folders of DT_RUNPATH and DT_RPATH


NO_LINKS = Links()


# Base of a class with cached properties, which NamedTuple forbids. Records are named tuples because
# creating a data class takes ten times as long, at the start of every command.
class _Contents(NamedTuple):
    kind: ImageKind
    machine: str | None = None  # machine of the code, e.g. "x86_64", "nvptx64", "amdgcn"
    arch: str | None = None  # e.g. PTX .target "sm_70"
    symbols: tuple[DeviceSymbol, ...] = ()  # symbols that a host can find by name
    table: tuple[DeviceSymbol, ...] | None = None  # the image's own entry table, in its order
    is_opaque: bool = False  # symbols cannot be read: bitcode, SPIR-V, damaged
    problem: str | None = None  # why the bytes could not be read as what they claim to be
    # The image's own entry table, record by record: None for an unsupported entry, "" for an
    # unknown name.
    places: tuple[DeviceSymbol | None, ...] | None = None
    form: ElfForm | None = None  # form of ELF code for a CPU
    links: Links = NO_LINKS
    abi_version: int = 0  # EI_ABIVERSION
    clangs: tuple[int, ...] = ()  # the releases of clang that compiled it, of ELF code for a CPU
    is_debugged: bool = True  # whether there may be debug information in it
    is_own: bool = False  # unknown format for a known triple, which may be a plugin's own
    newer: str | None = None  # why it, or the container that it stands for, is of a newer format
    is_miscompiled: bool = False  # compiled by a clang that miscompiles such code


class Contents(_Contents):
    """The facts that the bytes of a device image state."""

    @cached_property
    def listed(self) -> dict[str, DeviceSymbol]:
        """Return the symbols that count as entries, by name."""
        return {symbol.name: symbol for symbol in reversed(self.symbols) if symbol.listed}


class Level(NamedTuple):
    """A container inside another one, with the attributes that the outer one declares."""

    container: str  # a module of formats/
    triple: str  # declared triple; "" without
    arch: str
    kind: ImageKind | None
    offset: int | None  # offset in the file; None in compressed bytes
    size: int


class Place(NamedTuple):
    """A range of bytes in a file."""

    offset: int
    size: int


class DeviceImage(NamedTuple):
    """One device image in a host file: the container's declarations, and facts of its bytes."""

    index: int  # type: ignore[assignment]  # instead of the method of tuples
    container: str  # a module of formats/, "raw" (an address tells of it) or "bare"
    triple: str  # triple declared by the container, normalised; "" without
    arch: str  # declared by the container
    offset: int
    size: int
    address: int | None
    contents: Contents
    declared_kind: ImageKind | None = None  # declared by the container
    sha256: str | None = None
    compression: str | None = None  # then offset and stored_size are of the compressed bytes
    stored_size: int | None = None
    is_wrapped: bool = False  # descriptors point to the container that it is in, not to it
    member: str | None = None  # archive member
    within: tuple[str, ...] = ()  # containers in the outermost one that it is in
    producer: Model | None = None  # programming model, if the container declares it
    unit: int | None = None  # file offset of the container shared with alternatives
    levels: tuple[Level, ...] = ()  # containers in containers around it, from the outermost
    container_version: int = 0  # version of the innermost container, if it has versions
    features: str = ""  # features of the processor, declared by the container: "+avx2,-fma"
    container_place: Place | None = None  # place of the outermost container, if it holds one image

    @property
    def kind(self) -> ImageKind:
        """Return the kind, from the bytes."""
        return self.contents.kind

    @property
    def taken(self) -> DeviceImage:
        """Return the image without its problem: a plugin accepts its unknown format."""
        return self._replace(contents=self.contents._replace(problem=None))

    @property
    def processor(self) -> str:
        """Return the processor to show for the image: the bytes' own, else the declared one.

        Cubins do not record the suffix of sm_100f, and SPIR-V records no more than its version.
        """
        own = self.contents.arch or ""
        is_silent = self.kind == "spirv" or own.startswith(UNKNOWN_PROCESSOR)
        if is_silent and self.arch not in NO_ARCH:
            return self.arch
        return self.arch if self.arch.startswith(own) else own

    @property
    def symbols(self) -> tuple[DeviceSymbol, ...]:
        """Return the symbols that a host can find by name in the image."""
        return self.contents.symbols

    @property
    def table(self) -> tuple[DeviceSymbol, ...] | None:
        """Return the image's own entry table, or None."""
        return self.contents.table

    @property
    def target(self) -> str:
        """Return triple and arch, as a user names them."""
        triple = self.triple or self.contents.machine or "no triple"
        return f"{triple} {self.processor}".rstrip()

    @property
    def declared(self) -> str:
        """Return the target that the container declares for the image."""
        return f"{self.triple or 'no triple'} {self.arch}".rstrip()


class OffloadEntry(NamedTuple):
    """One record of the host's entry table."""

    number: int  # index in the file, from 0
    kind: EntryKind
    name: str  # "" in generations without names
    address: int | None  # address of the host function or variable
    symbol: str | None  # host symbol at that address, when the file still has one
    size: int
    flags: int | None  # None in generations without flags
    offset: int | None = None  # file offset of the record
    place: int = 0  # index in its table, from 0
    # Key that is equal for entries whose host addresses are equal, in objects as well; None is
    # null.
    target: tuple[str | None, int] | None = None
    data: int = 0  # mask of a `requires` entry
    device_size: int | None = None  # size of the counterpart, if it is a pointer to this variable
    model: Model = "openmp"
    source: SourcePlace | None = None  # a kernel's source, if debug information was read

    @property
    def label(self) -> str:
        """Return the name of the object in a sentence."""
        if self.name:
            return self.name
        return f"{self.place} ({self.symbol})" if self.symbol else f"{self.place}"


class EntryTable(NamedTuple):
    """A table of entry records in a host."""

    section: str | None  # None: a descriptor, not a section, locates the table
    abi: Abi
    record_size: int
    offset: int
    size: int  # bytes
    address: int | None
    entries: tuple[OffloadEntry, ...]
    images: tuple[int, ...] = ()  # DeviceImage.index of the images that these entries are for
    version: int = 0  # the highest of its records; 0: they have none

    @property
    def has_names(self) -> bool:
        """Return whether entries pair by name; else the n-th entry pairs with the image's n-th."""
        return self.abi != "proposal"

    @property
    def name(self) -> str:
        """Return the section's name, or the table's file offset in words."""
        return self.section or f"the table at file offset {self.offset:#x}"


class ImageRecords(NamedTuple):
    """The __tgt_device_image records of a descriptor."""

    address: int  # 0 where there are none
    size: int  # bytes of one
    ranges: tuple[tuple[int, int], ...]  # addresses at which images begin and end


class Descriptor(NamedTuple):
    """A __tgt_bin_desc."""

    address: int | None
    offset: int
    images: tuple[int, ...]  # DeviceImage.index, in descriptor order
    entries_begin: int | None  # None: an unresolved __start_ symbol, as in an object file
    entries_end: int | None
    registered_by: str | None  # "_GLOBAL__A_000000_OPENMPTGT", ".init_array[0]", …; None: nobody
    is_traced: bool = True  # False: code of this machine is not read, so nothing is known of that
    records: ImageRecords | None = None  # None in an object, and for GCC


class Registration(NamedTuple):
    """A registration with the runtime of another model than OpenMP: a wrapper or descriptor."""

    model: Model
    address: int | None
    offset: int
    images: tuple[int, ...]  # DeviceImage.index
    registered_by: str | None  # see Descriptor
    is_traced: bool = True


class KernelCode(NamedTuple):
    """A digest of a kernel's code in one image, to compare with that in another."""

    image: int  # DeviceImage.index
    name: str
    digest: bytes


class KernelArchives(NamedTuple):
    """Archives that hold a library's kernels, by a path that the library names (ROCm's kpack)."""

    library: str  # the library's name in the archives
    path: str  # path below its folder; "@GFXARCH@" stands for an architecture
    files: tuple[tuple[str, tuple[str, ...]], ...]  # existing files, with their architectures
    beside: tuple[str, ...] = ()  # architectures that the names of other archives there have


class HostOnly(NamedTuple):
    """The reason why a file has no offload code, or regions without it."""

    message: str
    cure: str
    is_shown: bool  # False: it may have no target region
    regions: tuple[str, ...] = ()  # kernels' names of regions for the host alone, those that show


class _FatBinary(NamedTuple):
    path: str
    machine: str | None  # host's machine, e.g. "x86_64"; None for a bare image
    type: str | None  # "object", "executable", "shared", None
    abi: Abi | None
    images: tuple[DeviceImage, ...]
    tables: tuple[EntryTable, ...]
    descriptors: tuple[Descriptor, ...]
    imports: tuple[str, ...] = ()  # undefined __tgt_*, e.g. "__tgt_register_lib@OMPTARGET_4.5"
    needed: tuple[str, ...] = ()  # DT_NEEDED
    runtimes: tuple[str, ...] = ()  # needed libraries that provide versions of `imports`
    has_headers: bool = True  # False: found without section headers
    unlisted: tuple[str, ...] = ()  # kernels of regions that have no entry, where that shows
    data_address: int | None = None  # address of the first writable section with bytes
    unread: tuple[str, ...] = ()  # traces of offload code in a form that is not read, in words
    faults: tuple[str, ...] = ()  # places in containers that could not be read, and why
    limits: tuple[str, ...] = ()  # at which reading stopped, in words
    unsourced: tuple[str, ...] = ()  # debug information that could not be read, and why
    registrations: tuple[Registration, ...] = ()  # calls to CUDA's, HIP's and SYCL's runtimes
    clangs: tuple[int, ...] = ()  # the releases of clang that compiled parts of the host
    map_bits: int = 0  # bits of map types that no known clang sets
    host_only: HostOnly | None = None  # host-only regions, if they were requested
    file: str | None = None  # file of offsets, if it is not `path`: for a member of an archive
    search: tuple[str, ...] = ()  # folders of the host's DT_RUNPATH and DT_RPATH
    is_bitcode: bool = False  # a host's object of bitcode (-flto): its entries are not seen
    codes: tuple[KernelCode, ...] = ()  # kernels' code in an object, if requested
    archives: tuple[KernelArchives, ...] = ()  # archives with its kernels
    newer: tuple[str, ...] = ()  # parts of a format that came after this omptool, in words
    is_debug_only: bool = False  # this file is the separate debug information of another


class FatBinary(_FatBinary):
    """The offload code of one host file or bare image."""

    @cached_property
    def entries(self) -> tuple[OffloadEntry, ...]:
        """Return the entries of all tables, in order."""
        return tuple(entry for table in self.tables for entry in table.entries)

    @cached_property
    def named(self) -> frozenset[str]:
        """Return the names of the entries."""
        return frozenset(entry.name for entry in self.entries)

    @property
    def is_empty(self) -> bool:
        """Return whether the file has no trace of offload code."""
        return not (self.has_parts or self.unread or self.faults or self.limits or self.newer)

    @property
    def has_parts(self) -> bool:
        """Return whether any offload code of the file was read."""
        records = self.tables or self.descriptors or self.registrations
        return bool(self.images or records or self.archives)


class Finding(NamedTuple):
    """A finding of a check. Codes and severities never change their meaning."""

    code: str
    severity: Severity
    message: str
    hint: str
    entry: int | None = None  # OffloadEntry.number
    image: int | None = None  # DeviceImage.index
    detail: tuple[str, ...] = ()  # lines that show it
