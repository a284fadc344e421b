# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Choose the entries of a wrapper: the host's own table, those shared by name, or a list."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from packager.elf.headers import STT_FUNC, STT_OBJECT
from packager.errors import FormatError, UsageError
from packager.files.reader import open_input
from packager.model import DeviceImage, DeviceSymbol
from packager.records import NamedTuple
from packager.writers.host_object import HostSymbol
from packager.writers.wrapper import EntryInput

MAX_LIST = 1 << 26  # bytes: a million names of C++
SHOWN = 80  # characters of a line in a message


def shared_entries(
    images: Sequence[DeviceImage], host: dict[str, HostSymbol] | None
) -> list[EntryInput]:
    """Return an entry for each kernel or global of the images that the host defines, too.

    The first image with a table decides the order, and other images append theirs (DECISIONS 15,
    26). An image without a table contributes in the host's symbol order. Without a host (`emit`)
    every name counts. Raises UsageError if no name is shared.
    """
    order: dict[str, DeviceSymbol] = {}
    for image in sorted(images, key=lambda image: image.table is None):
        for symbol in _in_order(image, host):
            order.setdefault(symbol.name, symbol)
    chosen = [s for s in order.values() if host is None or _defines(host, s.name)]
    if not chosen:
        have = ", ".join(list(order)[:5]) or "none"
        raise UsageError(f"defines no kernel or global of the images (they have: {have})")
    return [EntryInput(symbol.name, symbol.size) for symbol in chosen]


def _in_order(image: DeviceImage, host: dict[str, HostSymbol] | None) -> Iterable[DeviceSymbol]:
    if image.table is not None:  # a GPU's has kernels alone
        names = {symbol.name for symbol in image.table}
        return *image.table, *(s for s in image.contents.listed.values() if s.name not in names)
    if host is None:
        return image.symbols
    rank = {name: number for number, name in enumerate(host)}
    return sorted(image.symbols, key=lambda symbol: rank.get(symbol.name, len(rank)))


def _defines(host: dict[str, HostSymbol], name: str) -> bool:
    return name in host and host[name].is_defined


class EntryList(NamedTuple):
    """Names of entries, and the file that lists them."""

    path: Path
    names: Sequence[str]


# The source of the entries: the host's own section, names in common, or a list.
EntrySource = Literal["host", "auto"] | EntryList


def listed_entries(
    listed: EntryList, images: Sequence[DeviceImage], host: dict[str, HostSymbol] | None
) -> list[EntryInput]:
    """Return the entries for a list of names, in order.

    The host, or without one the images, decides what a name is. Raises UsageError for a missing
    name and for one listed twice.
    """
    known = {symbol.name: symbol for image in reversed(images) for symbol in image.symbols}
    result: dict[str, EntryInput] = {}
    for name in listed.names:
        if name in result:
            raise UsageError(f"entry {name} is listed twice", listed.path)
        try:
            result[name] = EntryInput(name, _size(name, known, host))
        except UsageError as error:
            raise UsageError(str(error), listed.path) from error
    return list(result.values())


def _size(name: str, known: dict[str, DeviceSymbol], host: dict[str, HostSymbol] | None) -> int:
    if host is None:
        if name not in known:
            raise UsageError(f"entry {name} is in no image{_near(name, known)}")
        return known[name].size
    if not _defines(host, name):
        defined = [symbol.name for symbol in host.values() if symbol.is_defined]
        raise UsageError(f"entry {name} is not defined by the host{_near(name, defined)}")
    symbol = host[name]
    if symbol.type == STT_FUNC:
        return 0
    if symbol.type == STT_OBJECT:
        return symbol.size
    return known[name].size if name in known else 0


def _near(name: str, candidates: Iterable[str]) -> str:
    from difflib import get_close_matches  # slow to load

    near = get_close_matches(name, list(candidates), n=3)
    return f" (near: {', '.join(near)})" if near else ""


def read_list(path: Path) -> EntryList:
    """Read the list of entries at `path`: a name per line, with blank lines and # comments.

    "-" is standard input. Raises FormatError if it cannot be read, UsageError if it is no list.
    """
    with open_input(path) as data:
        if len(data) > MAX_LIST:
            raise FormatError(f"has {len(data)} bytes; a list of entries has at most {MAX_LIST}")
        return EntryList(path, _parsed(data.bytes()))


def _parsed(data: bytes) -> list[str]:
    try:
        lines = data.decode().splitlines()
    except UnicodeDecodeError as error:
        what = f"byte {data[error.start]:#04x} at {error.start:#x} is not UTF-8"
        raise UsageError(f"is not text: {what}") from error
    names = []
    for number, line in enumerate(lines, 1):
        name = line.split("#", 1)[0].strip()
        if any(c.isspace() or not c.isprintable() for c in name):
            start = name if len(name) <= SHOWN else f"{name[:SHOWN]}…"
            raise UsageError(f"{start!r} in line {number} is not a symbol name")
        if name:
            names.append(name)
    if not names:
        raise UsageError("lists no entry")
    return names
