# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The result of a relocatable link (-r): its table is closed, and its device code is linked.

Objects linked later have a table of their own, with the name that compilers use. So this table's
name contains a hash, as in clang's relocatable links.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from struct import Struct

from packager.elf.headers import SHT_PROGBITS, SYMBOL
from packager.files.reader import open_reader
from packager.files.replacing import replacing
from packager.formats.containers import llvm_offloading
from packager.formats.containers.bundles.clang_bundle import SECTION_PREFIX
from packager.writers.elf_types import Header
from packager.writers.host_object import HostObject, read_host
from packager.writers.object_writer import write_object

LINKED = ".omptool.linked"  # new name of an emptied section of device code
DIGITS = 16
BOUNDS = ("__start_", "__stop_")
NAME = Struct("<I")  # a symbol begins with it


def close(path: Path, section: str, images: Sequence[Path]) -> None:
    """Close the table `section` of the object at `path`, which has the descriptor of `images`."""
    with open_reader(path) as data:
        _close(path, read_host(data), section, f"_{_hash(images)}")


def _close(path: Path, host: HostObject, section: str, suffix: str) -> None:
    titles = Strings(host.strings if host.shstrtab == host.strtab else host.name_strings)
    headers = tuple(
        _closed(header, name, section, titles, suffix)
        for header, name in zip(host.headers, host.names, strict=True)
    )
    names = titles if host.shstrtab == host.strtab else Strings(host.strings)
    symbols = _with_bounds(host, section, names, suffix)
    closed = host._replace(
        headers=headers, symbols=symbols, strings=names.bytes, name_strings=titles.bytes
    )
    with replacing(path) as temporary, temporary.open("r+b") as file:
        write_object(file, closed, (), ())


class Strings:
    """A string table that grows."""

    def __init__(self, data: bytes) -> None:
        self.bytes = data

    def add(self, text: str) -> int:
        """Add `text` to the table; return its offset."""
        at = len(self.bytes)
        self.bytes += text.encode() + b"\0"
        return at


def _closed(header: Header, name: str, section: str, titles: Strings, suffix: str) -> Header:
    if name == section:
        return header._replace(name=titles.add(section + suffix))
    is_device_code = header.type == llvm_offloading.SHT_LLVM_OFFLOADING or name.startswith(
        (*llvm_offloading.NAMES, SECTION_PREFIX)
    )
    if is_device_code:
        return header._replace(name=titles.add(LINKED), type=SHT_PROGBITS, size=0, content=())
    return header


def _with_bounds(host: HostObject, section: str, names: Strings, suffix: str) -> bytes:
    """Return the symbols with those renamed that a linker defines at the bounds of the table."""
    table = host.symbol_table()
    symbols = bytearray(host.symbols)
    for bound in BOUNDS:
        symbol = table.get(bound + section)
        if symbol is not None:
            NAME.pack_into(symbols, symbol.number * SYMBOL.size, names.add(symbol.name + suffix))
    return bytes(symbols)


def _hash(images: Sequence[Path]) -> str:
    digest = sha256()
    for path in images:
        with open_reader(path) as data:
            for piece in data.pieces():
                digest.update(piece)
    return digest.hexdigest()[:DIGITS]
