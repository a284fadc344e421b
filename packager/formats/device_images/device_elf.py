# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Device images in ELF: shared objects and objects for CPUs, CUDA cubins, AMD code objects.

Only headers, symbols, the table of entries and its relocations are read, never code or data.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from sys import intern
from typing import Literal

from packager.elf import headers, imports
from packager.elf.address_space import Space
from packager.elf.headers import (
    DT_FLAGS_1,
    GPUS,
    SHT_DYNSYM,
    SHT_RELA,
    SHT_SYMTAB,
    STB_LOCAL,
    STT_FUNC,
    STT_OBJECT,
    Elf,
    Symbol,
)
from packager.elf.space_of import space
from packager.errors import FormatError
from packager.files.reader import Reader
from packager.formats.compressed import helper
from packager.formats.device_images import (
    amd_soundness,
    amdgpu,
    comment,
    compiled,
    kernel_resources,
)
from packager.formats.host_records import entries
from packager.formats.host_records.entries import FoundTable
from packager.look import Look
from packager.model import Contents, DeviceSymbol, ElfForm, ImageKind, Links

KINDS: dict[str, ImageKind] = {"nvptx64": "cubin", "amdgcn": "amdgcn"}
STO_CUDA_ENTRY = 0x10
# Variables in global or constant memory of cubins for nvlink (`ptxas -c`).
STT_CUDA_OBJECT, STO_CUDA_MEMORY = 13, 0x20 | 0x80
# Textures, surfaces and samplers, which CUDA's runtime binds at run time.
STT_CUDA_REFERENCES = (10, 11, 12)
FOUND = (STT_OBJECT, STT_FUNC, STT_CUDA_OBJECT)
STB_WEAK = 2
DF_1_PIE = 0x08000000
TARGET = Struct("<8xB39xI")  # ABI version and flags, which say the architecture
CUDA_V2_ABI = 8  # EI_ABIVERSION from CUDA 13 on
# Marks of code for one architecture alone ("sm_90a"): a flag of each ABI, and since ptxas 13 a
# record.
SPECIFIC_FLAGS, SPECIFIC_FLAGS_V2 = 0x800, 0x8
FIRST_SPECIFIC = 90  # older code of NVIDIA's own libraries has the flag for another reason
COMPATIBILITY, SPECIFIC_KEY, SIZED_RECORD = ".nv.compat", 9, 4
COMPATIBILITY_RECORD = Struct("<BBH")  # form, key, value; of a sized one: its size
MAX_COMPATIBILITY = 1 << 12
AMD_DESCRIPTOR = ".kd"  # beside each kernel of an AMD code object
HIDDEN = (1, 2)  # STV_INTERNAL, STV_HIDDEN
# Symbols that linkers define in every shared object.
LINKER_SYMBOLS = frozenset(
    ("_init", "_fini", "_edata", "_end", "__bss_start", "_start", "__data_start")
)


def probe(data: Reader) -> bool:
    """Return whether `data` begins like an ELF file."""
    return headers.probe(data)


def inspect(data: Reader) -> Contents:
    """Return the contents of an ELF image: machine, arch, symbols, table; or a `problem`."""
    look = data.context.look
    if look.is_inside and (found := _compiled(data)):
        return found
    found = _inspect(data, look)
    return found if look.symbols else found._replace(symbols=(), table=None, places=None)


def _inspect(data: Reader, look: Look) -> Contents:
    try:
        elf = headers.read(data) if look.is_inside else _first(data)
    except FormatError as error:
        return Contents("elf", is_opaque=True, problem=str(error))
    known = Contents(
        KINDS.get(elf.machine, "elf"),
        elf.machine,
        _arch(elf),
        abi_version=elf.abi_version,
        is_debugged=headers.has_debug_information(elf),
    )
    if not look.is_inside:
        return known._replace(is_opaque=True)
    try:
        if elf.machine not in GPUS:
            known = known._replace(form=_form(elf), clangs=comment.clang_releases(elf))
        if elf.end() > len(data):
            raise FormatError(f"is truncated: its headers span {elf.end()} bytes, not {len(data)}")
        if not elf.symbol_tables():
            return known._replace(is_opaque=True)
        if not look.symbols and elf.machine == "amdgcn" and amd_soundness.is_sound(elf):
            return known._replace(links=_links(elf))
        symbols, table, places = _symbols(elf)
        symbols = _with_resources(elf, symbols) if look.resources else symbols
        return known._replace(symbols=symbols, table=table, places=places, links=_links(elf))
    except FormatError as error:
        return known._replace(is_opaque=True, problem=str(error))


def _first(data: Reader) -> Elf:
    """Return the headers for a quick look: with sections for a cubin that is not compressed."""
    first = headers.first(data)
    is_read = first.machine == "nvptx64" and first.abi_version >= CUDA_V2_ABI and data.is_stored
    try:
        return headers.read(data) if is_read else first
    except FormatError:
        return first


def _compiled(data: Reader) -> Contents | None:
    """Return the contents from the compiled helper, if the image is a cubin that it can read."""
    depth = helper.depth(data.context.look)
    try:
        found = compiled.cubin(data, depth) if helper.is_answered(data) or _is_cubin(data) else None
        abi_version, flags = data.unpack(TARGET, 0, "ELF header")
    except FormatError:
        return None  # the twin reports the error
    if found is None:
        return None
    return Contents(
        "cubin",
        "nvptx64",
        _cuda_arch(abi_version, flags, is_specific=found.is_specific),
        found.symbols,
        links=Links(found.undefined),
        abi_version=abi_version,
        is_debugged=found.is_debugged,
    )


def _is_cubin(data: Reader) -> bool:
    return headers.first(data).machine == "nvptx64"


def _with_resources(elf: Elf, symbols: tuple[DeviceSymbol, ...]) -> tuple[DeviceSymbol, ...]:
    """Return the symbols, with the resources of kernels in a GPU's image."""
    if elf.machine == "nvptx64":
        found = kernel_resources.of_cubin(elf)
    elif elf.machine == "amdgcn" and not elf.is_object:
        found = kernel_resources.of_amdgcn(space(elf), dict(_amd_descriptors(elf)))
    else:
        return symbols
    return tuple(
        s._replace(resources=found.get(s.name)) if s.kind == "kernel" else s for s in symbols
    )


def _amd_descriptors(elf: Elf) -> Iterator[tuple[str, int]]:
    for table in elf.of_type(_symbol_table(elf))[:1]:
        names = elf.strings(table.link, f"names of {table.name}")
        for symbol in elf.symbols(table):
            name = names[symbol.name_at] if symbol.is_defined and symbol.name_at else ""
            if name.endswith(AMD_DESCRIPTOR):
                yield name.removesuffix(AMD_DESCRIPTOR), symbol.value


def _links(elf: Elf) -> Links:
    if elf.is_object:
        return Links()  # to be linked yet
    undefined: list[str] = []
    for table in elf.of_type(_symbol_table(elf))[:1]:
        names = elf.strings(table.link, f"names of {table.name}")
        absent = elf.undefined(table)
        wanted = {n: symbol for n, symbol in absent if _is_asked_for(symbol, elf)}
        if wanted and elf.machine == "amdgcn":
            used = _relocated(elf)
            wanted = {n: symbol for n, symbol in wanted.items() if n in used}
        undefined += (names[symbol.name_at] for symbol in wanted.values())
    return Links(tuple(undefined), *imports.libraries(elf))


def _relocated(elf: Elf) -> set[int]:
    """Return the symbols that relocations use: AMD's loader resolves no others.

    Kernels may leave undefined symbols of team memory behind that no relocation uses.
    """
    tables = (elf.content(section) for section in elf.of_type(SHT_RELA))
    return {
        info >> 32
        for table in tables
        for words in elf.words(headers.RELA.size, table, "relocations of an image")
        for info in words[1::3]
    }


def _is_asked_for(symbol: Symbol, elf: Elf) -> bool:
    """Return whether an undefined symbol must be defined by another file."""
    is_bound = elf.machine == "nvptx64" and symbol.type in STT_CUDA_REFERENCES
    return symbol.binding not in (STB_LOCAL, STB_WEAK) and not is_bound


def _symbol_table(elf: Elf) -> int:
    """Return the type of the table in which a plugin looks symbols up: .dynsym or .symtab."""
    return SHT_SYMTAB if elf.machine == "nvptx64" or elf.is_object else SHT_DYNSYM


def _form(elf: Elf) -> ElfForm:
    """Return the form that dlopen checks: it refuses programs, recognised by a flag if PIE."""
    if elf.is_object:
        return "relocatable object"
    flags = elf.dynamic().get(DT_FLAGS_1, [0])
    if elf.is_executable or flags[0] & DF_1_PIE:
        return "executable"
    return "shared object" if elf.is_dynamic else "ELF file of another type"


def _arch(elf: Elf) -> str | None:
    if elf.machine == "nvptx64":
        return _cuda_arch(elf.abi_version, elf.flags, is_specific=_is_specific(elf))
    return amdgpu.arch(elf.flags, elf.abi_version) if elf.machine == "amdgcn" else None


def _cuda_arch(abi_version: int, flags: int, *, is_specific: bool) -> str:
    is_new = abi_version >= CUDA_V2_ABI
    number = (flags >> 8 if is_new else flags) & 0xFF
    is_flagged = flags & (SPECIFIC_FLAGS_V2 if is_new else SPECIFIC_FLAGS)
    suffix = "a" if number >= FIRST_SPECIFIC and (is_specific or is_flagged) else ""
    return f"sm_{number}{suffix}"


def _is_specific(elf: Elf) -> bool:
    """Return whether a cubin has the record of code for one architecture alone."""
    try:
        return any(_has_specific_record(elf.content(s)) for s in elf.named(COMPATIBILITY))
    except FormatError:
        return False  # damage, which is found again


def _has_specific_record(data: Reader) -> bool:
    at, end = 0, min(len(data), MAX_COMPATIBILITY)
    while at + COMPATIBILITY_RECORD.size <= end:
        form, key, value = data.unpack(COMPATIBILITY_RECORD, at, COMPATIBILITY)
        if key == SPECIFIC_KEY and form != SIZED_RECORD and value & 0xFF:
            return True
        at += COMPATIBILITY_RECORD.size + (value if form == SIZED_RECORD else 0)
    return False


_Symbols = tuple[DeviceSymbol, ...]
_Places = tuple[DeviceSymbol | None, ...]


def _symbols(elf: Elf) -> tuple[_Symbols, _Symbols | None, _Places | None]:
    """Return the symbols that a host can find, the table of entries, and the table by record."""
    exports = {symbol.name: symbol for symbol in _exports(elf)}
    if elf.machine == "amdgcn":
        exports = _with_amd_kernels(elf, exports)
    memory = space(elf)
    tables = entries.find(memory) if elf.sections else []
    if not tables:
        return tuple(exports.values()), None, None
    places = tuple(symbol for table in tables for symbol in _listed(memory, table, exports))
    listed = tuple(symbol for symbol in places if symbol and symbol.name)
    # The documents' table is complete. Clang's runtimes find names in the symbol table, listed or
    # not.
    is_whole = all(table.layout.flags is None for table in tables)
    names = {symbol.name for symbol in listed}
    others = [s._replace(listed=not is_whole) for s in exports.values() if s.name not in names]
    return (*listed, *others), listed, places


def _listed(
    memory: Space, table: FoundTable, exports: dict[str, DeviceSymbol]
) -> Iterator[DeviceSymbol | None]:
    """Yield the symbol of each record; a record without an address has no symbol."""
    records = list(entries.records(memory, table))
    names: dict[int, str] = {}
    if table.layout.name is None:  # the symbol at the address usually has a name
        names = memory.symbol_names({record.address for record in records if record.address})
    for record in records:
        if not record.address:
            yield None
            continue
        name = record.name or names.get(record.address, "")
        kind: Literal["kernel", "global"] = "global" if record.size else "kernel"
        address = None if memory.elf.is_object else record.address
        listed = DeviceSymbol(name, kind, record.size, address=address)
        if export := exports.get(name):
            listed = _agreed(listed, export)
        yield listed


def _agreed(listed: DeviceSymbol, export: DeviceSymbol) -> DeviceSymbol:
    """Return a listed symbol, completed by the symbol table."""
    if listed[:3] == export[:3] and listed.address == export.address:
        return export  # a listed symbol need not be exported twice
    return listed._replace(symbol_kind=export.kind, symbol_size=export.size, code=export.code)


def _exports(elf: Elf) -> Iterator[DeviceSymbol]:
    """Yield the symbols that a plugin can look up, in .symtab (cubins, objects) or .dynsym."""
    is_cuda = elf.machine == "nvptx64"
    is_placed = not elf.is_object and not is_cuda  # cubins number from their sections
    for table in elf.of_type(_symbol_table(elf))[:1]:
        names = elf.strings(table.link, f"names of {table.name}")
        for symbol in elf.symbols(table):
            if symbol.info & 15 not in FOUND:  # true of most symbols of a cubin
                continue
            kind = _kind(symbol, is_cuda)
            name = intern(names[symbol.name_at]) if kind else ""  # images have the same kernels
            if kind is None or name in LINKER_SYMBOLS or _is_table_part(name, elf):
                continue
            size = symbol.size if kind == "global" else 0
            address = symbol.value if is_placed else None
            code = _code(elf, symbol) if kind == "kernel" else None
            yield DeviceSymbol(name, kind, size, kind, size, True, address, None, code)


def _with_amd_kernels(elf: Elf, exports: dict[str, DeviceSymbol]) -> dict[str, DeviceSymbol]:
    """Return `exports` with AMD's kernels: functions that have a descriptor, exported or not."""
    kernels = dict(_amd_descriptors(elf))
    kept = {n: symbol for n, symbol in exports.items() if symbol.kind != "kernel" or n in kernels}
    missing = [name for name in kernels if name not in kept]
    functions = dict(_local_functions(elf, frozenset(missing))) if missing else {}
    return kept | {n: functions.get(n, DeviceSymbol(n, "kernel", 0, "kernel")) for n in missing}


def _local_functions(elf: Elf, wanted: frozenset[str]) -> Iterator[tuple[str, DeviceSymbol]]:
    """Yield the functions with these names that are not exported: GCC's kernels."""
    for table in elf.of_type(SHT_SYMTAB)[:1]:
        names = elf.strings(table.link, f"names of {table.name}")
        for symbol in elf.symbols(table):
            name = names[symbol.name_at] if symbol.type == STT_FUNC and symbol.name_at else ""
            if name in wanted:
                address = None if elf.is_object else symbol.value
                code = _code(elf, symbol)
                yield name, DeviceSymbol(name, "kernel", 0, "kernel", 0, True, address, None, code)


def _code(elf: Elf, symbol: Symbol) -> tuple[int, int] | None:
    """Return where in the file the instructions of a function are."""
    offset = elf.offset_of(symbol)
    return None if offset is None else (elf.data.at + offset, symbol.size)


def _kind(symbol: Symbol, is_cuda: bool) -> Literal["kernel", "global"] | None:
    if not symbol.section:
        return None
    if is_cuda and symbol.type == STT_FUNC:
        # The driver also finds static kernels: CUDA's runtime looks them up by name.
        return "kernel" if symbol.other & STO_CUDA_ENTRY else None
    if symbol.binding == STB_LOCAL or symbol.other & 3 in HIDDEN:
        return None
    if symbol.type == STT_FUNC:
        return "kernel"
    if is_cuda and symbol.type == STT_CUDA_OBJECT:
        return "global" if symbol.other & STO_CUDA_MEMORY else None
    return "global" if symbol.type == STT_OBJECT else None


def _is_table_part(name: str, elf: Elf) -> bool:
    """Return whether a symbol belongs to an entry table or an AMD kernel's descriptor."""
    if elf.machine == "amdgcn" and name.endswith(AMD_DESCRIPTOR):
        return True
    return name.startswith((".offloading.entry.", ".omp_offloading.entry"))
