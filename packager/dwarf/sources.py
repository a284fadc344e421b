# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The source files of kernels and entries, from the debug information of images and hosts.

Debug information is read only on request, because it may be larger than the rest of a file.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from packager.dwarf import declared, ptx_lines
from packager.elf import headers
from packager.errors import FormatError, LimitError
from packager.files.reader import Reader
from packager.formats.device_images import ptx
from packager.model import (
    DeviceImage,
    DeviceSymbol,
    EntryTable,
    FatBinary,
    OffloadEntry,
    SourcePlace,
)
from packager.naming.kernel_names import decode
from packager.records import NamedTuple

Places = dict[str, SourcePlace]


class Asked(NamedTuple):
    """Selection of the sources to look up."""

    image: Callable[[FatBinary, DeviceImage], bool] = lambda _binary, _image: True
    name: Callable[[str], bool] = lambda _: True  # accepts a kernel's or an entry's name
    kernels: bool = True  # include all kernels of images; False: only entries


EVERY = Asked()


def with_sources(
    binary: FatBinary, host: Reader, data: Sequence[Reader], asked: Asked = EVERY
) -> FatBinary:
    """Return `binary` with the sources of kernels and entries that debug information names.

    `host` is the file, `data` the bytes of its images. The result's `unsourced` lists the parts
    that cannot be read.
    """
    faults: list[str] = []
    own: list[Places] = []  # places from each image
    known: Places = {}
    units: dict[int, Places] = {}
    entries = {_host_name(entry) for entry in binary.entries if asked.name(entry.name)}
    for image, bytes_of in zip(binary.images, data, strict=True):
        names = {name for name in _kernels(image) if asked.kernels or name in entries}
        bytes_of.context.look.seen(image.offset)
        is_asked = image.contents.is_debugged and asked.image(binary, image)
        names = set(filter(asked.name, names)) if is_asked else set()
        # Alternatives of one image share their kernels, so their places are read once.
        unit = units.setdefault(image.unit, {}) if image.unit is not None else {}
        found = _places(bytes_of, names - unit.keys(), f"image {image.index}", faults)
        unit.update(found)
        own.append({name: unit[name] for name in names & unit.keys()})
        known = found | known
    if binary.machine is not None:
        known |= _places(host, entries - known.keys(), "the host", faults)
    if not known:
        return binary._replace(unsourced=tuple(faults)) if faults else binary
    tables = tuple(_table_with(table, known) for table in binary.tables)
    hosts = {e.name: e.source for table in tables for e in table.entries if e.source}
    # An image's own places come first: the host's may be of another file.
    images = tuple(map(_image_with, binary.images, (hosts | places for places in own)))
    return binary._replace(images=images, tables=tables, unsourced=tuple(faults))


def _kernels(image: DeviceImage) -> set[str]:
    return {symbol.name for symbol in image.symbols if symbol.kind == "kernel"}


def _host_name(entry: OffloadEntry) -> str:
    """Return an entry's name in debug information: GCC's entries have other names on the device."""
    if entry.kind in ("kernel", "ctor", "dtor"):
        return (entry.symbol if "$" in entry.name else entry.name) or ""
    return ""


def _places(data: Reader, names: Collection[str], what: str, faults: list[str]) -> Places:
    names = {name for name in names if name}
    if not names:
        return {}
    try:
        if headers.probe(data):
            found = declared.places(headers.read(data), names)
        elif ptx.probe(data):
            found = ptx_lines.places(data, names)
        else:
            return {}
    except (FormatError, LimitError) as error:
        faults.append(f"debug information of {what}: {error}")
        return {}
    return {
        name: SourcePlace(at.file, _line(name) or at.line or None) for name, at in found.items()
    }


def _line(name: str) -> int | None:
    """Return the line in a kernel's name; debug information may have the first statement's line."""
    decoded = decode(name)
    return decoded.line if decoded else None


def _image_with(image: DeviceImage, found: Places) -> DeviceImage:
    if not found:
        return image
    contents = image.contents
    table = contents.table
    return image._replace(
        contents=contents._replace(
            symbols=_symbols_with(contents.symbols, found),
            table=None if table is None else _symbols_with(table, found),
        ),
    )


def _symbols_with(symbols: Iterable[DeviceSymbol], found: Places) -> tuple[DeviceSymbol, ...]:
    """Return the symbols with the places of kernels among `found`."""
    return tuple(
        symbol._replace(source=found[symbol.name])
        if symbol.kind == "kernel" and symbol.name in found
        else symbol
        for symbol in symbols
    )


def _table_with(table: EntryTable, found: Places) -> EntryTable:
    entries = tuple(
        entry._replace(source=found[name]) if (name := _host_name(entry)) in found else entry
        for entry in table.entries
    )
    return table._replace(entries=entries)
