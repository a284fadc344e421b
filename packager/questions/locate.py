# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Find the symbol at an address from a runtime message, a debugger or a profiler."""

from __future__ import annotations

from collections.abc import Iterator

from packager.model import FatBinary, OffloadEntry, SourcePlace
from packager.wording import runs

PAGE = 4096


def locate(binary: FatBinary, address: int) -> list[str]:
    """Return the contents of `binary` at `address`, in words; empty if there are none.

    If the program was loaded at another address, only the offset in a page is known. Then every
    entry with this offset is named, with the load address that it implies.
    """
    return list(_exact(binary, address)) or list(_moved(binary, address))


def _exact(binary: FatBinary, address: int) -> Iterator[str]:
    for entry in binary.entries:
        if entry.address is not None and 0 <= address - entry.address < max(entry.size, 1):
            yield _named(entry, address - entry.address)
    for table in binary.tables:
        if table.address is not None and 0 <= address - table.address < table.size:
            number = (address - table.address) // table.record_size
            yield f"record {number} of {table.name}"
    for number, descriptor in enumerate(binary.descriptors):
        if descriptor.address == address:
            yield f"descriptor {number}"
    for number, row in enumerate(binary.registrations):
        if row.address == address:
            yield f"registration {number} of images {runs(row.images)} with {row.model}'s runtime"
    for image in binary.images:
        inside = address - (image.address or 0)
        if image.address is not None and 0 <= inside < image.size:
            yield f"image {image.index} ({image.target}), byte {inside:#x}"
        for symbol in image.symbols:
            if symbol.address is not None and 0 <= address - symbol.address < max(symbol.size, 1):
                where = f"in image {image.index} ({image.target}), loaded at 0"
                source = f", from {_place(symbol.source)}" if symbol.source else ""
                yield f"{symbol.kind} {symbol.name} {where}{source}"


def _moved(binary: FatBinary, address: int) -> Iterator[str]:
    for entry in binary.entries:
        base = address - entry.address if entry.address is not None else -1
        if base > 0 and base % PAGE == 0:
            yield f"{_named(entry, 0)}, if the file is loaded at {base:#x}"


def _named(entry: OffloadEntry, inside: int) -> str:
    name = entry.name or entry.symbol or "without a name"
    found = f"entry {entry.number}: {entry.kind} {name}{f' + {inside:#x}' if inside else ''}"
    return f"{found}, from {_place(entry.source)}" if entry.source else found


def _place(source: SourcePlace) -> str:
    return source.file if source.line is None else f"{source.file}:{source.line}"
