# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write a relocatable object: a host object, or an empty one, with added sections and symbols.

Contents are streamed, so memory does not depend on the size of device images. Sections keep their
numbers; added ones follow.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Collection, Sequence
from typing import BinaryIO

from packager.elf.headers import (
    ET_REL,
    HEADER,
    RELA,
    SECTION_HEADER,
    SHT_NOBITS,
    SHT_NULL,
    SHT_RELA,
    STB_LOCAL,
    SYMBOL,
)
from packager.errors import FormatError, UsageError
from packager.records import NamedTuple
from packager.writers.elf_types import (
    ELFOSABI_GNU,
    SHF_GNU_RETAIN,
    SHF_INFO_LINK,
    SHN_LORESERVE,
    SHT_GROUP,
    SHT_LLVM_ADDRSIG,
    SHT_REL,
    Header,
    KeptContent,
    Relocation,
    Section,
    Symbol,
    content_size,
)
from packager.writers.host_object import HostObject
from packager.writers.streams import Copied, ignore, pieces

# Offset of the symbol index in a relocation record, in 32-bit words: r_info follows r_offset.
SYMBOL_WORD = 3
REL_SIZE = 16
MAX_INDEX_BITS = 64


class _Symbols(NamedTuple):
    """The symbol table of the result."""

    records: bytes
    strings: bytes
    local_count: int
    indices: dict[str, int]  # indices of all symbols that a relocation may name


def write_object(
    out: BinaryIO,
    host: HostObject,
    sections: Sequence[Section],
    symbols: Sequence[Symbol],
    retain: Collection[str] = (),
    copied: Copied = ignore,
) -> None:
    """Write `host` with `sections` and `symbols` added to `out`.

    `symbols` are the added locals, and globals, unless the host has a global of that name. Host
    sections named in `retain` are marked to survive --gc-sections. Calls `copied` with the size of
    each copied piece of a file.
    """
    merged = _merge_symbols(host, symbols)
    by = merged.local_count - host.local_count
    shift = _Shift(host.local_count, by, len(host.symbols) // SYMBOL.size)
    headers = [_moved(header, host, shift) for header in host.headers]
    for number, name in enumerate(host.names):
        if name in retain:
            headers[number] = headers[number]._replace(flags=headers[number].flags | SHF_GNU_RETAIN)
    shared_names = host.shstrtab == host.strtab  # clang keeps both kinds of name in one table
    names = bytearray(merged.strings if shared_names else host.name_strings)
    headers += _added_headers(host, sections, merged.indices, names)
    if len(headers) >= SHN_LORESERVE:
        raise UsageError(f"the result would have {len(headers)} sections, more than ELF allows")
    symtab = _with_content(headers[host.symtab], merged.records)
    headers[host.symtab] = symtab._replace(info=merged.local_count)
    headers[host.strtab] = _with_content(headers[host.strtab], merged.strings)
    headers[host.shstrtab] = _with_content(headers[host.shstrtab], bytes(names))
    _write(out, host, headers, copied)


def _merge_symbols(host: HostObject, symbols: Sequence[Symbol]) -> _Symbols:
    """Put added locals before the host's globals, as the ABI demands, and added globals last."""
    strings = bytearray(host.strings)
    known = host.symbol_table()
    first_added = len(host.headers)
    locals_ = [symbol for symbol in symbols if symbol.binding == STB_LOCAL]
    globals_ = [s for s in symbols if s.binding != STB_LOCAL and s.name not in known]
    boundary = host.local_count * SYMBOL.size
    records = bytearray(host.symbols[:boundary])
    records += b"".join(_record(symbol, first_added, strings) for symbol in locals_)
    records += host.symbols[boundary:]
    local_count = host.local_count + len(locals_)
    indices = {
        name: symbol.number + (len(locals_) if symbol.number >= host.local_count else 0)
        for name, symbol in known.items()
    }
    first_global = len(records) // SYMBOL.size
    records += b"".join(_record(symbol, first_added, strings) for symbol in globals_)
    indices |= {symbol.name: first_global + n for n, symbol in enumerate(globals_)}
    indices |= {symbol.name: host.local_count + n for n, symbol in enumerate(locals_)}
    return _Symbols(bytes(records), bytes(strings), local_count, indices)


def _record(symbol: Symbol, first_added: int, strings: bytearray) -> bytes:
    section = 0 if symbol.section is None else first_added + symbol.section
    info = symbol.binding << 4 | symbol.type
    name = _intern(strings, symbol.name)
    return SYMBOL.pack(name, info, symbol.visibility, section, symbol.value, symbol.size)


def _intern(strings: bytearray, text: str) -> int:
    offset = len(strings)
    strings += text.encode("utf-8", "surrogateescape") + b"\0"
    return offset


class _Shift(NamedTuple):
    """The numbers of symbols, after some were put before the first global."""

    first: int  # first symbol with a new number
    by: int
    total: int  # number of symbols before

    def __call__(self, index: int) -> int:
        if index >= self.total:
            raise FormatError(f"refers to symbol {index} of {self.total}")
        return index + self.by if index >= self.first else index


def _moved(header: Header, host: HostObject, shift: _Shift) -> Header:
    """Return a host's section header, updated for the added symbols."""
    if header.type in (SHT_RELA, SHT_REL) and header.link == host.symtab:
        return _with_content(header, _moved_relocations(header, shift))
    if header.type == SHT_GROUP:
        return header._replace(info=shift(header.info))
    if header.type == SHT_LLVM_ADDRSIG:
        return _with_content(header, _moved_addrsig(_load(header.content), shift))
    return header


def _moved_relocations(header: Header, shift: _Shift) -> bytes:
    record = RELA.size if header.type == SHT_RELA else REL_SIZE
    if header.size % record:
        raise FormatError(f"relocation section of {header.size} bytes has a part of a record")
    words = array("I", _load(header.content))
    step = record // words.itemsize
    if sys.byteorder == "big":
        words.byteswap()
    indices = words[SYMBOL_WORD::step]
    if indices:
        shift(max(indices))  # raises
    first, by = shift.first, shift.by
    words[SYMBOL_WORD::step] = array("I", [i + by if i >= first else i for i in indices])
    if sys.byteorder == "big":
        words.byteswap()
    return words.tobytes()


def _moved_addrsig(data: bytes, shift: _Shift) -> bytes:
    """Return LLVM's address-significance table, ULEB128 symbol indices, with `shift` applied."""
    result = bytearray()
    value = bits = 0
    for byte in data:
        value |= (byte & 0x7F) << bits
        bits += 7
        if byte & 0x80:
            if bits > MAX_INDEX_BITS:
                raise FormatError("a symbol number of the address-significance table has no end")
            continue
        value = shift(value)
        while value > 0x7F:
            result.append(value & 0x7F | 0x80)
            value >>= 7
        result.append(value)
        value = bits = 0
    return bytes(result)


def _load(content: KeptContent) -> bytes:
    return b"".join(map(bytes, pieces(content)))


def _with_content(header: Header, data: bytes) -> Header:
    return header._replace(content=(data,), size=len(data))


def _added_headers(
    host: HostObject, sections: Sequence[Section], indices: dict[str, int], names: bytearray
) -> list[Header]:
    """Return the headers of the added sections, then of their relocation sections."""
    first = len(host.headers)
    added = []
    relocations = []
    for number, section in enumerate(sections):
        name = _intern(names, section.name)
        added.append(
            Header(name, section.type, section.flags, section.size, 0, 0, section.alignment,
                   section.entry_size, section.content)
        )  # fmt: skip
        if section.relocations:
            data = b"".join(
                RELA.pack(r.offset, indices[r.symbol] << 32 | _type(r, host), r.addend)
                for r in section.relocations
            )
            name = _intern(names, ".rela" + section.name)
            relocations.append(
                Header(name, SHT_RELA, SHF_INFO_LINK, len(data), host.symtab, first + number, 8,
                       RELA.size, (data,))
            )  # fmt: skip
    return added + relocations


def _type(relocation: Relocation, host: HostObject) -> int:
    return host.machine.absolute if relocation.type is None else relocation.type


def _write(out: BinaryIO, host: HostObject, headers: Sequence[Header], copied: Copied) -> None:
    """Write the ELF header, contents in section order, and the section header table."""
    position = HEADER.size
    out.write(bytes(position))  # the header is filled in when the table's place is known
    table = []
    for header in headers:
        position += _pad(out, position, max(1, header.alignment))
        table.append(
            SECTION_HEADER.pack(header.name, header.type, header.flags, 0, position, header.size,
                                header.link, header.info, header.alignment, header.entry_size)
            if header.type != SHT_NULL
            else bytes(SECTION_HEADER.size)
        )  # fmt: skip
        if header.type != SHT_NOBITS:
            out.writelines(pieces(header.content, copied))
            position += content_size(header.content)
    position += _pad(out, position, 8)
    out.write(b"".join(table))
    ident = b"\x7fELF\x02\x01\x01" + bytes([host.os_abi or ELFOSABI_GNU])  # GNU: SHF_GNU_RETAIN
    out.seek(0)
    out.write(
        HEADER.pack(ident.ljust(16, b"\0"), ET_REL, host.machine.number, 1, 0, 0, position,
                        host.flags, HEADER.size, 0, 0, SECTION_HEADER.size, len(headers),
                        host.shstrtab)
    )  # fmt: skip


def _pad(out: BinaryIO, position: int, alignment: int) -> int:
    padding = -position % alignment
    out.write(bytes(padding))
    return padding
