# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of entries of a finished file: its own, or one that is made of its symbols."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct

from packager.editing.collect.added import Bounds, Placed
from packager.editing.linked import LinkedFile
from packager.editing.plan import Address, Binding, Fixup, Part, Plan
from packager.elf.headers import DT_FLAGS_1, PT_INTERP, SHT_DYNSYM, STT_FUNC, STT_OBJECT, WORD
from packager.errors import UsageError
from packager.layouts import WRITTEN, WrittenAbi
from packager.model import DeviceImage, FatBinary
from packager.records import NamedTuple
from packager.writers.elf_types import SHF_ALLOC, SHF_WRITE, SHN_LORESERVE, STT_NOTYPE, STV_DEFAULT
from packager.writers.entries import EntrySource, listed_entries, shared_entries
from packager.writers.host_object import HostSymbol
from packager.writers.wrapper import EntryInput, table_bytes

DF_1_PIE = 0x08000000
NAMED = (STT_NOTYPE, STT_OBJECT, STT_FUNC)


class _Symbol(NamedTuple):
    """A symbol that the file defines."""

    host: HostSymbol
    address: int
    exported: int  # symbol number, if another file may override it; else 0


def table(
    file: LinkedFile,
    binary: FatBinary,
    images: Sequence[DeviceImage],
    source: EntrySource,
    abi: WrittenAbi,
) -> Placed:
    """Return the file's entry table, or build one if `source` requests it."""
    tables = [t for t in binary.tables if t.record_size == abi.entry.record and t.address]
    own = [t for t in tables if t.size]
    if source == "host":
        if len(own) != 1:
            raise UsageError(_missing(binary, abi) if not own else "has several tables of entries")
        begin, end = own[0].address or 0, (own[0].address or 0) + own[0].size
        return Placed(Bounds(Address(None, begin), Address(None, end)))
    if own:
        raise UsageError(f"has a table of entries of its own ({own[0].name}); leave --entries out")
    symbols = symbols_of(file)
    host = {name: symbol.host for name, symbol in symbols.items()}
    entries = (
        shared_entries(images, host) if source == "auto" else listed_entries(source, images, host)
    )
    for entry in entries:
        if entry.size >= 1 << (8 * Struct(f"<{abi.entry.size_format}").size - 1):
            raise UsageError(
                f"entry {entry.name} of {entry.size} bytes is too large for {abi.name}"
            )
    return _made(
        entries, [symbols[entry.host_symbol] for entry in entries], abi, file.machine.absolute
    )


def _missing(binary: FatBinary, abi: WrittenAbi) -> str:
    for table in binary.tables:
        if table.size and table.abi in WRITTEN:
            return f"its entries are those of another ABI: use --abi {table.abi}"
    return f"has no {abi.entries_section} section; {abi.remedy}, or --entries"


def symbols_of(file: LinkedFile) -> dict[str, _Symbol]:
    """Return the symbols that the file defines, by name; .symtab includes local ones."""
    found: dict[str, _Symbol] = {}
    is_preempted = _is_library(file)
    for table in reversed(file.elf.symbol_tables()):
        names = file.elf.strings(table.link, f"names of {table.name}")
        is_dynamic = table.type == SHT_DYNSYM
        for number, symbol in enumerate(file.elf.symbols(table)):
            is_here = symbol.is_defined and symbol.section < SHN_LORESERVE
            if not is_here or symbol.type not in NAMED or not symbol.name_at:
                continue
            name = names[symbol.name_at]
            if name in found and (found[name].exported or not symbol.binding):
                continue
            is_exported = is_dynamic and is_preempted and symbol.other & 3 == STV_DEFAULT
            host = HostSymbol(number, name, symbol.type, symbol.size, True)
            found[name] = _Symbol(host, symbol.value, number if is_exported else 0)
    return found


def _is_library(file: LinkedFile) -> bool:
    """Return whether definitions of other files come before its own."""
    table = file.dynamic
    is_program = any(s.type == PT_INTERP for s in file.segments) or file.elf.is_executable
    flags = (table.value(DT_FLAGS_1) if table else 0) or 0
    return not (is_program or flags & DF_1_PIE)


def _made(
    entries: Sequence[EntryInput], symbols: Sequence[_Symbol], abi: WrittenAbi, absolute: int
) -> Placed:
    """Build an entry table in its own section; `absolute` relocates a pointer to a symbol."""
    layout = abi.entry
    text = b"".join(_encoded(entry) for entry in entries) if layout.name is not None else b""
    names = Part("code", ".rodata.omptool", (text,), 1, flags=SHF_ALLOC)
    fixups: list[Fixup] = []
    bindings: list[Binding] = []
    name_at = 0
    for number, (entry, symbol) in enumerate(zip(entries, symbols, strict=True)):
        at = number * layout.record
        fixups.append(Fixup(at + layout.address, Address(None, symbol.address)))
        if symbol.exported:
            bindings.append(Binding(at + layout.address, symbol.exported << 32 | absolute))
        if layout.name is not None:
            fixups.append(Fixup(at + layout.name, names.at(name_at)))
        name_at += len(_encoded(entry))
    part = Part(
        "fixed", abi.entries_section, (table_bytes(entries, layout),), WORD.size,
        flags=SHF_ALLOC | SHF_WRITE, fixups=tuple(fixups), bindings=tuple(bindings),
    )  # fmt: skip
    plan = Plan((names, part) if text else (part,))
    return Placed(Bounds(part.at(0), part.at(part.size)), plan)


def _encoded(entry: EntryInput) -> bytes:
    return entry.name.encode("utf-8", "surrogateescape") + b"\0"
