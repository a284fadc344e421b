# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LLVM bitcode (the LLVM Bitcode File Format): target, kernels, variables, undefined names.

Names are in the string table since LLVM 5; older modules are only recognised.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from packager.errors import FormatError
from packager.files.names import text
from packager.files.reader import Reader
from packager.formats.device_images.bitcode.bitstream import Block, Record, Stream, items, outermost
from packager.formats.device_images.bitcode.magic import probe as probe
from packager.formats.device_images.bitcode.metadata import annotated_kernels
from packager.formats.device_images.bitcode.openmp_spirv import is_miscompiled
from packager.formats.device_images.bitcode.types import Types
from packager.formats.device_images.bitcode.types import read as read_types
from packager.model import Contents, DeviceSymbol, Links
from packager.triples import GPUS, code_of

MODULE, METADATA, TYPES, STRTAB = 8, 15, 17, 23
SUMMARIES = (20, 24)  # block numbers of summaries by -flto=thin and -flto
VERSION, TRIPLE, GLOBAL, FUNCTION, ALIAS = 1, 2, 7, 8, 14
STRTAB_BLOB = 1
WITH_STRING_TABLE = 2  # the first version of a module whose names are there
# Calling conventions of kernels: ptx_kernel, spir_kernel, amdgpu_kernel.
KERNEL_CALLS = (71, 76, 91)
LOCAL = (3, 9, 13, 14)  # linkage: internal and private
ELSEWHERE = 12  # linkage available_externally
WEAK = 7  # linkage extern_weak
HIDDEN = 1  # visibility
CLANG_KERNEL = "__omp_offloading_"
# Clang's prefixes of entry records; the name of the entry follows.
ENTRIES = (".offloading.entry.", ".omp_offloading.entry.")
INTRINSIC = "llvm."
MACHINES = {"powerpc64le": "ppc64le"}
OF_HOSTS = ("x86_64", "aarch64", "ppc64le", "riscv64", "s390x")
MAX_SYMBOLS = 1 << 18


@dataclass
class _Global:
    """A function or variable of a module."""

    name_at: int
    name_size: int
    is_function: bool
    is_defined: bool
    linkage: int
    visibility: int
    size: int = 0  # a variable's size, if its type has one
    is_kernel: bool = False
    name: str = ""

    @property
    def is_visible(self) -> bool:
        """Return whether a host can find it by name."""
        is_own = self.is_defined and self.linkage not in (*LOCAL, ELSEWHERE)
        return is_own and self.visibility != HIDDEN


@dataclass
class _Module:
    """The contents of a module's records."""

    version: int = 0
    triple: str = ""
    values: list[_Global] = field(default_factory=list)  # ordered by number
    types: Types = field(default_factory=Types)
    metadata: Block | None = None
    has_summary: bool = False  # contains a summary for LTO


def inspect(data: Reader) -> Contents:
    """Return the target and symbols of a module; a damaged one has a `problem`."""
    try:
        found = _inspect(data)
        return found._replace(is_miscompiled=True) if is_miscompiled(data) else found
    except FormatError as error:
        return Contents("bitcode", is_opaque=True, problem=str(error))


def machine(data: Reader) -> str | None:
    """Return the machine of the module in `data`; None if it names none. Raises FormatError."""
    return _machine(_read(data, is_head=True)[1])


def linked_names(data: Reader) -> tuple[set[str], set[str]]:
    """Return the names that modules in `data` leave undefined, and those that they define.

    Both are empty for a module from before LLVM 5. Raises FormatError for a damaged one.
    """
    _, modules, names = _read(data)
    if any(module.version < WITH_STRING_TABLE for module in modules):
        return set(), set()
    _name(modules, names)
    values = [value for module in modules for value in module.values]
    is_shared = {v.name for v in values if v.is_defined and v.linkage not in (*LOCAL, ELSEWHERE)}
    return set(_undefined(values, is_shared)), is_shared


def host_regions(data: Reader) -> tuple[str, ...] | None:
    """Return the functions that are parts of regions, for a host's object by clang's -flto.

    Return None for any other module, and for an object with device code. A summary for the link, or
    the lack of kernels, distinguishes an object from a CPU's device image. Raises FormatError for a
    damaged module.
    """
    _, modules, names = _read(data)
    if not any(module.has_summary for module in modules) or _machine(modules) not in OF_HOSTS:
        return None
    _name(modules, names)
    values = [value for module in modules for value in module.values]
    if any(_is_for_devices(value) for value in values):
        return None
    own = (value for value in values if value.is_function and value.is_defined)
    return tuple(value.name for value in own if value.name.startswith(CLANG_KERNEL))


def _is_for_devices(value: _Global) -> bool:
    is_kernel = value.is_visible and value.name.startswith(CLANG_KERNEL)
    return is_kernel or value.name.startswith(ENTRIES)


def _inspect(data: Reader) -> Contents:
    if not data.context.look.is_inside:
        return Contents("bitcode", machine(data), is_opaque=True)
    stream, modules, names = _read(data)
    if not modules or any(module.version < WITH_STRING_TABLE for module in modules):
        return Contents("bitcode", _machine(modules), is_opaque=True)
    return _contents(stream, modules, names)


def _read(data: Reader, is_head: bool = False) -> tuple[Stream, list[_Module], Reader]:
    """Read the modules and their string table; with `is_head`, only the first module's target."""
    stream, whole = outermost(data)
    modules: list[_Module] = []
    names = Reader(b"")
    for block in items(stream, whole):
        if not isinstance(block, Block):
            raise FormatError(f"bitcode at {stream.data.at:#x} has a record outside of all blocks")
        if block.number == MODULE:
            modules.append(_module(stream, block, is_head))
            if is_head:
                break
        elif block.number == STRTAB:
            names = _string_table(stream, block) or names
    return stream, modules, names


def _machine(modules: list[_Module]) -> str | None:
    first = code_of(modules[0].triple) if modules else ""
    return MACHINES.get(first, first) or None


def _string_table(stream: Stream, block: Block) -> Reader | None:
    for record in items(stream, block):
        if isinstance(record, Record) and record.code == STRTAB_BLOB:
            return record.blob
    return None


def _module(stream: Stream, block: Block, is_head: bool) -> _Module:
    found = _Module()
    for item in items(stream, block):
        if isinstance(item, Block):
            if item.number == TYPES and not is_head:
                found.types = read_types(stream, item)
            elif item.number == METADATA and found.metadata is None:
                found.metadata = item
            elif item.number in SUMMARIES:
                found.has_summary = True
        elif item.code == VERSION and item.operands:
            found.version = item.operands[0]
        elif item.code == TRIPLE:
            found.triple = text(item.text().encode("latin-1"))
            if is_head:
                break
        elif item.code in (GLOBAL, FUNCTION, ALIAS):
            found.values.append(_value(stream, item, found.types))
            if len(found.values) > MAX_SYMBOLS:
                raise FormatError(f"bitcode has more than {MAX_SYMBOLS} symbols")
    return found


def _value(stream: Stream, record: Record, types: Types) -> _Global:
    """Parse a record of version 2, which begins with the place of the name."""
    fields = record.operands
    if len(fields) < 6:
        raise FormatError(f"bitcode at {stream.data.at:#x} has a symbol of {len(fields)} fields")
    at, size, kind = fields[:3]
    if record.code == GLOBAL:
        has_value_type = bool(fields[3] & 2)
        bytes_of = types.size(kind) if has_value_type else 0
        return _Global(at, size, False, fields[4] != 0, fields[5], _field(fields, 8), bytes_of)
    if record.code == FUNCTION:
        value = _Global(at, size, True, not fields[4], fields[5], _field(fields, 9))
        value.is_kernel = fields[3] in KERNEL_CALLS
        return value
    return _Global(at, size, types.is_function(kind), True, fields[5], _field(fields, 6))


def _field(fields: list[int], number: int) -> int:
    """Return a field; 0 if the record ends before it: records omit zeros at their end."""
    return fields[number] if number < len(fields) else 0


def _contents(stream: Stream, modules: list[_Module], names: Reader) -> Contents:
    code = _machine(modules)
    _name(modules, names)
    for module in modules:
        if code in GPUS:
            _mark_kernels(stream, module)
        else:
            for value in module.values:
                value.is_kernel = value.is_function
    values = [value for module in modules for value in module.values]
    told = None if code in GPUS else _told(values)
    symbols = tuple(symbol for value in values if (symbol := _symbol(value, told)))
    defined = {value.name for value in values if value.is_defined}
    return Contents("bitcode", code, symbols=symbols, links=Links(_undefined(values, defined)))


def _name(modules: list[_Module], names: Reader) -> None:
    for module in modules:
        for value in module.values:
            raw = names.slice(value.name_at, value.name_size, "name of a symbol in bitcode")
            value.name = names.context.string(raw.bytes())


def _mark_kernels(stream: Stream, module: _Module) -> None:
    """Mark the kernels; up to LLVM 20 only metadata identifies those for NVIDIA's GPUs."""
    candidates = [v for v in module.values if v.is_function and v.is_visible and not v.is_kernel]
    for value in candidates:
        value.is_kernel = value.name.startswith(CLANG_KERNEL)
    if module.metadata is None or not module.triple.startswith("nvptx"):
        return
    if any(not value.is_kernel for value in candidates):
        for number in annotated_kernels(stream, module.metadata):
            if number < len(module.values):
                module.values[number].is_kernel = True


def _told(values: list[_Global]) -> set[str]:
    """Return the names in records of entries; clang's kernels are also known by their prefix."""
    names = (value.name for value in values)
    return {n.removeprefix(prefix) for n in names for prefix in ENTRIES if n.startswith(prefix)}


def _symbol(value: _Global, told: set[str] | None) -> DeviceSymbol | None:
    """Return the symbol if a host can find it, else None.

    `told` has the entries of a module for a CPU, in which a host may call any function.
    """
    if not value.is_visible or value.name.startswith((INTRINSIC, *ENTRIES)):
        return None
    if value.is_function:
        if not value.is_kernel:
            return None
        found = DeviceSymbol(value.name, "kernel", 0, "kernel")
        is_told = told is None or value.name in told or value.name.startswith(CLANG_KERNEL)
        return found if is_told else found._replace(is_told=False)
    return DeviceSymbol(value.name, "global", value.size, "global", value.size)


def _undefined(values: list[_Global], defined: set[str]) -> tuple[str, ...]:
    names = (
        value.name
        for value in values
        if not value.is_defined and value.linkage != WEAK and value.name not in defined
    )
    return tuple(dict.fromkeys(name for name in names if not name.startswith(INTRINSIC)))
