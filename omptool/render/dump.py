# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Render `omptool dump` as text for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat

from omptool.console import shown
from omptool.render.dumped import uri
from omptool.render.names import called, raw, remark, terminal_width
from omptool.render.tables import Columns, Row, column_table, hexadecimal, table, table_pieces
from packager.model import (
    Descriptor,
    DeviceImage,
    EntryState,
    FatBinary,
    Level,
    OffloadEntry,
    Registration,
)
from packager.pairing import entry_states
from packager.questions.kernels import Kernel, architectures, merged, own
from packager.questions.sorting import IMAGES, KERNELS, code_size, in_order
from packager.questions.wanted import Wanted
from packager.records import NamedTuple
from packager.wording import runs

# Most images with a column each in the table of states; with more, only exceptions are listed.
WIDE = 4
# Columns that a narrow terminal truncates, and columns that it omits.
CUT = ("name", "kernel", "file", "symbol", "architectures", "images", "raw name")
SPARE = (
    "file",
    "images",
    "SGPR spills",
    "SGPRs",
    "AGPRs",
    "stack",
    "VGPR spills",
    "architectures",
)
SPARE_OF_ENTRIES = ("file", "model", "flags", "symbol", "size", "address", "kind")
# Columns that a narrow terminal truncates in the tables of images, containers and archives.
CUT_OF_IMAGES = ("where", "container", "triple", "entries", "registered by", "path")
CUT_OF_ARCHIVES = ("archive", "path", "architectures")
SPARE_OF_IMAGES = (
    "address",
    "offset",
    "stored",
    "compression",
    "declared",
    "producer",
    "container",
    "size",
    "kind",
    "triple",
)
# Columns of a kernel's resources, in the order of Resources.
NEEDS = ("registers", "shared", "stack", "SGPRs", "AGPRs", "VGPR spills", "SGPR spills")


class Parts(NamedTuple):
    """The parts that `dump` shows, and how it shows them."""

    images: bool
    entries: bool
    descriptors: bool
    kernels: bool = False
    wide: bool = False  # all columns, however wide
    sort: str | None = None
    is_demangled: bool = True
    wanted: Wanted = Wanted()

    @property
    def width(self) -> int | None:
        """Return the width of tables; None for any width."""
        return None if self.wide else terminal_width()

    def called(self, names: Iterable[str]) -> Mapping[str, str]:
        """Return the display names of kernels and variables."""
        return called(names) if self.is_demangled else {name: name for name in names}


def dump_text(binary: FatBinary, parts: Parts) -> Iterator[str]:
    """Yield the tables of a file, each as soon as it is laid out, without trailing newlines."""
    path = shown(binary.path)
    if binary.is_debug_only:
        yield f"{path}: debug information alone"
    elif binary.is_empty:
        yield f"{path}: no offload code"
    elif binary.machine is None and not binary.images:
        yield f"{path}: offload code in forms that dump does not read"
    else:
        yield f"{path}: {headline(binary)}"
        yield from filter(None, _blocks(binary, parts))


def _blocks(binary: FatBinary, parts: Parts) -> Iterator[str]:
    images = in_order(parts.wanted.images(binary), IMAGES, parts.sort)
    if parts.images:
        rows = _images(binary, images, parts.wide)
        yield table("images", rows, parts.width, CUT_OF_IMAGES, SPARE_OF_IMAGES)
        if levels := _levels(images):
            yield table("containers in containers", levels, parts.width, CUT_OF_IMAGES)
        yield from (_damage(image) for image in images if image.contents.problem)
    if parts.entries and binary.machine is None:
        yield table("symbols for a host", _symbols(images, parts), parts.width, CUT)
    elif parts.entries and binary.is_bitcode:
        yield "entries are not seen before the link: the object is LLVM bitcode (-flto)"
    elif parts.entries:
        columns = _entries(binary, images, parts)
        states = [name for name in columns if name.startswith("image")]
        yield column_table("entries", columns, parts.width, CUT, SPARE_OF_ENTRIES, states)
    if parts.kernels:
        yield from _kernels(binary, images, parts)
    if parts.descriptors and binary.machine is not None:
        if binary.descriptors or not binary.registrations:
            yield table("descriptors", _descriptors(binary), parts.width, CUT_OF_IMAGES)
        if binary.registrations:
            yield table("registrations", _registrations(binary), parts.width, CUT_OF_IMAGES)
    if binary.archives:
        yield table("kernels in archives", _archives(binary), parts.width, CUT_OF_ARCHIVES)
    yield from binary.unsourced


def headline(binary: FatBinary) -> str:
    """Return the kind of a file, in words."""
    if binary.machine is None:
        return "device images without a host"
    abi = f", ABI {binary.abi}" if binary.abi else ""
    return f"{binary.machine} {binary.type}{abi}"


def _images(binary: FatBinary, images: Iterable[DeviceImage], wide: bool) -> list[Row]:
    return [
        {
            "image": image.index,
            "container": "/".join((image.container, *image.within)),
            "producer": image.producer if wide or image.producer != "openmp" else None,
            "kind": image.kind,
            "declared": image.declared_kind if wide or _is_other(image) else None,
            "triple": image.triple or image.contents.machine,
            "arch": image.processor,
            "size": image.size,
            "compression": image.compression,
            "stored": image.stored_size,
            "offset": hexadecimal(image.offset),
            "address": hexadecimal(image.address),
            "sha256": image.sha256,
            "where": uri(binary, image) if wide else None,
        }
        for image in images
    ]


def _levels(images: Iterable[DeviceImage]) -> list[Row]:
    """Return a row for each container inside another one, with its declared attributes."""
    found: dict[tuple[Level, ...], list[int]] = {}
    for image in images:
        for depth in range(1, len(image.levels) + 1):
            found.setdefault(image.levels[:depth], []).append(image.index)
    return [
        {
            "container": levels[-1].container,
            "level": len(levels),
            "declared": levels[-1].kind,
            "triple": levels[-1].triple,
            "arch": levels[-1].arch,
            "size": levels[-1].size,
            "offset": hexadecimal(levels[-1].offset),
            "images": runs(indices),
        }
        for levels, indices in found.items()
    ]


def _is_other(image: DeviceImage) -> bool:
    """Return whether a container declares another kind of an image than its bytes have."""
    return image.declared_kind is not None and image.declared_kind != image.kind


def _damage(image: DeviceImage) -> str:
    return f"image {image.index}: {image.contents.problem}"


def _entries(binary: FatBinary, images: Sequence[DeviceImage], parts: Parts) -> Columns:
    states = entry_states(binary)
    chosen = [
        (entry, [row[image.index] for image in images])
        for entry, row in zip(binary.entries, states, strict=True)
        if parts.wanted.names(entry.name)
    ]
    entries = [entry for entry, _ in chosen]
    names = parts.called(entry.name for entry in entries)
    wide = parts.wide
    return {
        "name": [names[entry.name] for entry in entries],
        "entry": [entry.number for entry in entries],
        "kind": [entry.kind for entry in entries],
        "address": [hexadecimal(entry.address) for entry in entries],
        "symbol": [entry.symbol if wide or not _is_obvious(entry) else None for entry in entries],
        "file": [entry.source.file if entry.source else None for entry in entries],
        "size": [entry.size for entry in entries],
        "flags": [hexadecimal(e.flags) if wide or e.flags else None for e in entries],
        "model": [entry.model if entry.model != "openmp" else None for entry in entries],
        "raw name": [raw(e.name, names[e.name], is_wide=wide) for e in entries],
        **_states(images, [row for _, row in chosen]),
    }


def _is_obvious(entry: OffloadEntry) -> bool:
    """Return whether the host symbol adds nothing to the name: clang has one for each region."""
    return entry.symbol in (entry.name, f".{entry.name}.region_id")


def _kernels(binary: FatBinary, images: Sequence[DeviceImage], parts: Parts) -> Iterator[str]:
    """Yield the table of kernels, and notes on it."""
    found = [one for one in merged(binary, images) if parts.wanted.names(one.name)]
    found = in_order(found, KERNELS, parts.sort)
    # Architectures and images as text, by indices of images: many kernels share them.
    places: dict[tuple[int, ...], tuple[str, str]] = {}
    names = parts.called(kernel.name for kernel in found)
    machines = list(dict.fromkeys(machine(image) for one in found for image in one.images))
    yield from table_pieces(
        "kernels",
        [_kernel(kernel, names[kernel.name], parts, places, machines) for kernel in found],
        parts.width,
        CUT,
        SPARE,
    )
    if parts.is_demangled:
        yield remark([kernel.name for kernel in found])


def _kernel(
    kernel: Kernel, name: str, parts: Parts,
    places: dict[tuple[int, ...], tuple[str, str]], machines: Sequence[str],
) -> Row:  # fmt: skip
    """Return a row for a kernel and the images that have it, with ranges of differing numbers."""
    symbols = [symbol for _, symbol in kernel.symbols]
    needs = {symbol.resources for symbol in symbols if symbol.resources}
    spans = map(_span, zip(*needs, strict=True)) if needs else repeat(None)
    indices = tuple(image.index for image, _ in kernel.symbols)
    if indices not in places:
        places[indices] = architectures(kernel.images), runs(indices)
    archs, images = places[indices]
    files = dict.fromkeys(symbol.source.file for symbol in symbols if symbol.source)
    return {
        "kernel": name,
        "file": ", ".join(files),
        "architectures": archs,
        "images": images,
        **dict(zip(NEEDS, spans, strict=False)),
        **_code(kernel, machines),
        "raw name": raw(kernel.name, name, is_wide=parts.wide),
    }


def _code(kernel: Kernel, machines: Sequence[str]) -> Row:
    """Return the bytes of a kernel's code: a column for each machine, as one has more than another.

    Two GPUs of a vendor share a column, where numbers that differ are a range.
    """
    if len(machines) < 2:
        return {"code": _span(code_size(symbol) for _, symbol in kernel.symbols)}
    return {
        f"code {one}": _span(code_size(s) for image, s in kernel.symbols if machine(image) == one)
        for one in machines
    }


def machine(image: DeviceImage) -> str:
    """Return the machine that an image has code for, as triples begin: "nvptx64"."""
    return (image.triple or image.contents.machine or image.kind).split("-")[0]


def _span(numbers: Iterable[int | None]) -> int | str | None:
    """Return one number, or the range from smallest to largest; None if there is none."""
    known = sorted(number for number in set(numbers) if number is not None)
    if len(known) < 2:
        return known[0] if known else None
    return f"{known[0]}-{known[-1]}"


def _symbols(images: Iterable[DeviceImage], parts: Parts) -> list[Row]:
    """Return rows of the symbols that a host's entries could name, for images without a host."""
    found = [
        (image, symbol)
        for image in images
        for symbol in own(image)
        if parts.wanted.names(symbol.name)
    ]
    names = parts.called(symbol.name for _, symbol in found)
    return [
        {
            "name": names[symbol.name],
            "image": image.index,
            "kind": symbol.kind if symbol.is_told else "function",
            "size": symbol.size,
            "raw name": raw(symbol.name, names[symbol.name], is_wide=parts.wide),
        }
        for image, symbol in found
    ]


def _states(images: Sequence[DeviceImage], rows: Sequence[Sequence[EntryState]]) -> Columns:
    if len(images) > WIDE:
        return {"images": [_exceptions(images, states) for states in rows]}
    columns = {
        f"image {image.index}": [row[place] for row in rows] for place, image in enumerate(images)
    }
    return {
        name: ["" if state == "unrelated" else state for state in states]
        for name, states in columns.items()
    }


def _exceptions(images: Sequence[DeviceImage], states: Sequence[EntryState]) -> str:
    """Return the images that lack an entry or have it in a faulty state."""
    by_state: dict[str, list[int]] = {}
    for image, state in zip(images, states, strict=True):
        if state not in ("present", "unrelated"):
            by_state.setdefault(state, []).append(image.index)
    others = "; ".join(f"{state} in {runs(where)}" for state, where in by_state.items())
    return others or "present"


def _descriptors(binary: FatBinary) -> list[Row]:
    return [
        {
            "descriptor": index,
            "address": hexadecimal(descriptor.address),
            "offset": hexadecimal(descriptor.offset),
            "images": runs(descriptor.images) or "none",
            "entries": _range(descriptor.entries_begin, descriptor.entries_end),
            "registered by": _registrar(descriptor),
        }
        for index, descriptor in enumerate(binary.descriptors)
    ]


def _registrar(row: Descriptor | Registration) -> str:
    return row.registered_by or ("nothing found" if row.is_traced else "unknown")


def _archives(binary: FatBinary) -> list[Row]:
    return [
        {
            "library": one.library,
            "path": one.path,
            "archive": file,
            "architectures": ", ".join(architectures),
        }
        for one in binary.archives
        for file, architectures in one.files or (("not there", ()),)
    ]


def _registrations(binary: FatBinary) -> list[Row]:
    """Return rows of the registrations with the runtimes of CUDA, HIP and SYCL."""
    return [
        {
            "registration": index,
            "runtime": row.model,
            "address": hexadecimal(row.address),
            "offset": hexadecimal(row.offset),
            "images": runs(row.images) or "none",
            "registered by": _registrar(row),
        }
        for index, row in enumerate(binary.registrations)
    ]


def _range(begin: int | None, end: int | None) -> str:
    if begin is None or end is None:
        return "set by the linker"
    return f"{begin:#x}..{end:#x}"
