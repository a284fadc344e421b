# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Read the resources of kernels from GPU images: CUDA's `.nv.info`, AMD's metadata.

The attributes of `.nv.info` are not documented; they were derived from ptxas' output and its -v.
AMD's metadata and kernel descriptors are in LLVM's AMDGPUUsage, "Code Object Metadata" and "Kernel
Descriptor". The descriptor has allocated resources, which exceed the used ones.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from functools import lru_cache
from struct import Struct
from typing import Any

from packager.elf.address_space import Space
from packager.elf.headers import SHT_NOTE, SYMBOL, WORD, Elf, Section
from packager.errors import FormatError
from packager.files import msgpack
from packager.files.names import text
from packager.model import Resources
from packager.patterns import pattern

# Format, attribute, and the size in format 4 (a sized value). The values read here are a symbol's
# index and a number.
ATTRIBUTE = Struct("<BBH")
VALUE = Struct("<II")
SIZED = 4
REGISTERS, FRAME, STACK = 0x2F, 0x11, 0x12
_WANTED = pattern(b"%c[%c%c%c]" % (SIZED, REGISTERS, FRAME, STACK))
INFO, INFO_PREFIX, SHARED_PREFIX = ".nv.info", ".nv.info.", ".nv.shared."
# sizes of the group and private segment in a kernel descriptor
DESCRIPTOR = Struct("<II56x")
NOTE = Struct("<III")  # size of the owner's name, of the description, type
AMD_OWNER, AMD_METADATA = b"AMDGPU\0", 32  # since code object version 3
NOTE_ALIGNMENT = 4
MAX_METADATA = 1 << 26
AMD_KERNELS, AMD_SYMBOL, AMD_SUFFIX = "amdhsa.kernels", ".symbol", ".kd"
KEY = bytes([0xA0 + len(AMD_SYMBOL)]) + AMD_SYMBOL.encode()  # encoded as MessagePack
# Keys of AMD's metadata, in the order of Resources.
AMD_NUMBERS = (
    ".vgpr_count",
    ".group_segment_fixed_size",
    ".private_segment_fixed_size",
    ".sgpr_count",
    ".agpr_count",
    ".vgpr_spill_count",
    ".sgpr_spill_count",
)


def of_cubin(elf: Elf) -> dict[str, Resources]:
    """Return the registers, shared memory and stack of each kernel that the cubin records."""
    registers: dict[int, int] = {}
    stack: dict[int, int] = {}
    shared: dict[str, int] = {}
    for section in elf.sections:
        name = section.name
        if name.startswith(SHARED_PREFIX):
            shared[name.removeprefix(SHARED_PREFIX)] = section.size
        elif name == INFO or name.startswith(INFO_PREFIX):
            _attributes(elf, section, registers, stack)
    names = _symbol_names(elf, {*registers, *stack})
    return {
        name: Resources(registers.get(index), shared.get(name, 0), stack.get(index))
        for index, name in names.items()
    }


def _attributes(
    elf: Elf, section: Section, registers: dict[int, int], stack: dict[int, int]
) -> None:
    data = elf.content(section)
    if len(data) > MAX_METADATA:
        raise FormatError(f"{section.name} has {len(data)} bytes; at most {MAX_METADATA} are read")
    block = data.bytes()  # at once: most of a large library's time would go into small reads
    if not _WANTED.search(block):  # true of most sections of a kernel
        return
    at = 0
    while at + ATTRIBUTE.size <= len(block):
        form, attribute, size = ATTRIBUTE.unpack_from(block, at)
        at += ATTRIBUTE.size
        if form != SIZED:
            continue
        if attribute in (REGISTERS, FRAME, STACK) and size >= VALUE.size:
            if at + VALUE.size > len(block):
                data.slice(at, VALUE.size, section.name)  # raises
            symbol, number = VALUE.unpack_from(block, at)
            kept = registers if attribute == REGISTERS else stack
            kept[symbol] = max(number, kept.get(symbol, 0))
        at += size


def _symbol_names(elf: Elf, wanted: set[int]) -> dict[int, str]:
    for table in elf.symbol_tables()[:1]:
        names = elf.strings(table.link, f"names of {table.name}")
        firsts = array("Q")  # the first words of all symbols: the low half says where its name is
        for words in elf.words(SYMBOL.size, elf.content(table), table.name):
            firsts += words[:: SYMBOL.size // WORD.size]
        places = ((n, firsts[n] & 0xFFFFFFFF) for n in sorted(wanted) if n < len(firsts))
        return {n: names[at] for n, at in places if at}
    return {}


def of_amdgcn(space: Space, descriptors: dict[str, int]) -> dict[str, Resources]:
    """Return the resources of kernels in a code object.

    `descriptors` maps kernels to the addresses of their `<kernel>.kd`.
    """
    rows = _of_metadata(space.elf)
    known = {name: needs for name, needs in rows if name in descriptors}
    for name, address in descriptors.items():
        if name in known:
            continue
        offset = space.offset(address, DESCRIPTOR.size)
        if offset is None:
            raise FormatError(f"descriptor of kernel {name} is not in the file")
        group, private = space.elf.data.unpack(DESCRIPTOR, offset, f"descriptor of {name}")
        known[name] = Resources(None, group, private)
    return known


def described(elf: Elf) -> int:
    """Count the kernels in a code object's metadata, without parsing their values.

    Raises FormatError if it is malformed.
    """
    found = 0
    for data in _amd_notes(elf):
        msgpack.check(data)
        found += data.count(KEY)
    return found


def _of_metadata(elf: Elf) -> Iterator[tuple[str, Resources]]:
    for symbol, row in _rows(elf):
        name = text(symbol.removesuffix(AMD_SUFFIX).encode("utf-8", "surrogateescape"))
        numbers = map(row.get, AMD_NUMBERS)
        yield name, _resources(*(n if type(n) is int and n >= 0 else None for n in numbers))


def _rows(elf: Elf) -> Iterator[tuple[str, dict[str, Any]]]:
    for data in _amd_notes(elf):
        found = msgpack.decode(data)
        rows = found.get(AMD_KERNELS) if isinstance(found, dict) else None
        for row in rows if isinstance(rows, list) else ():
            symbol = row.get(AMD_SYMBOL) if isinstance(row, dict) else None
            if isinstance(row, dict) and isinstance(symbol, str):
                yield symbol, row


@lru_cache(maxsize=1 << 12)  # many kernels need the same
def _resources(*numbers: int | None) -> Resources:
    return Resources(*numbers)


def _amd_notes(elf: Elf) -> Iterator[bytes]:
    """Yield the metadata of a code object, as MessagePack."""
    for section in elf.of_type(SHT_NOTE):
        data, at = elf.content(section), 0
        while at + NOTE.size <= len(data):
            named, size, kind = data.unpack(NOTE, at, section.name)
            at += NOTE.size
            owner = data.bytes(at, named, "owner of a note")
            at += -(-named // NOTE_ALIGNMENT) * NOTE_ALIGNMENT
            if kind == AMD_METADATA and owner == AMD_OWNER:
                if size > MAX_METADATA:
                    raise FormatError(f"metadata of {size} bytes is too large to be real")
                yield data.bytes(at, size, "metadata of kernels")
            at += -(-size // NOTE_ALIGNMENT) * NOTE_ALIGNMENT
