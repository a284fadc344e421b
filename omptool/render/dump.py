"""What `omptool dump` says: FatBinaries as text for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from omptool.console import portable, shown
from omptool.reading import Unread
from omptool.render.json_stream import document
from omptool.render.tables import Columns, Row, column_table, hexadecimal, table
from packager.kernel_names import decode, gcc_function
from packager.model import DeviceImage, DeviceSymbol, EntryState, FatBinary, OffloadEntry, Resources
from packager.pairing import entry_states
from packager.wording import runs

# More images than this make a table of states too wide: then only exceptions are listed.
WIDE = 4


class Parts(NamedTuple):
    """What `dump` shows."""

    images: bool
    entries: bool
    descriptors: bool
    kernels: bool = False
    wide: bool = False  # all columns


def dump_text(binary: FatBinary, parts: Parts) -> str:
    """The tables of a file, without a newline at the end."""
    path = shown(binary.path)
    if binary.is_empty:
        return f"{path}: no offload code"
    if binary.machine is None and not binary.images:
        return f"{path}: nothing in a form that is read"
    blocks = [f"{path}: {_headline(binary)}"]
    if parts.images:
        blocks.append(table("images", _images(binary, parts.wide)))
        blocks += [_damage(image) for image in binary.images if image.contents.problem]
    if parts.entries and binary.machine is None:
        blocks.append(table("symbols for a host", _symbols(binary)))
    elif parts.entries:
        blocks.append(column_table("entries", _entries(binary, parts.wide)))
    if parts.kernels:
        blocks.append(table("kernels", _kernels(binary)))
    if parts.descriptors and binary.machine is not None:
        if binary.descriptors or not binary.registrations:
            blocks.append(table("descriptors", _descriptors(binary)))
        if binary.registrations:
            blocks.append(table("registrations", _registrations(binary)))
    blocks += binary.unsourced
    return "\n".join(part for part in blocks if part)


def _headline(binary: FatBinary) -> str:
    if binary.machine is None:
        return "device images without a host"
    abi = f", ABI {binary.abi}" if binary.abi else ""
    return f"{binary.machine} {binary.type}{abi}"


def _images(binary: FatBinary, wide: bool) -> list[Row]:
    return [
        {
            "image": image.index,
            "container": "/".join((image.container, *image.within)),
            "kind": image.kind,
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
        for image in binary.images
    ]


def uri(binary: FatBinary, image: DeviceImage) -> str:
    """Where the bytes of an image are, as other tools write it; stored ones, if compressed."""
    path = binary.file or binary.path
    size = image.size if image.stored_size is None else image.stored_size
    return f"file://{portable(path)}#offset={image.offset}&size={size}"


def _damage(image: DeviceImage) -> str:
    return f"image {image.index}: {image.contents.problem}"


def _entries(binary: FatBinary, wide: bool) -> Columns:
    entries = binary.entries
    return {
        "entry": [entry.number for entry in entries],
        "kind": [entry.kind for entry in entries],
        "name": [entry.name for entry in entries],
        "address": [hexadecimal(entry.address) for entry in entries],
        "symbol": [entry.symbol if wide or not _is_obvious(entry) else None for entry in entries],
        "source": [source(entry.name) for entry in entries],
        "file": [entry.source.file if entry.source else None for entry in entries],
        "size": [entry.size for entry in entries],
        "flags": [hexadecimal(e.flags) if wide or e.flags else None for e in entries],
        "model": [entry.model if entry.model != "openmp" else None for entry in entries],
        **_states(len(binary.images), entry_states(binary)),
    }


def _is_obvious(entry: OffloadEntry) -> bool:
    """Whether the host symbol says no more than the name: clang has one for each region."""
    return entry.symbol in (entry.name, f".{entry.name}.region_id")


def source(name: str) -> str | None:
    """Function and line of a kernel of clang's, function of one of GCC's."""
    decoded = decode(name)
    return str(decoded) if decoded else gcc_function(name)


def _kernels(binary: FatBinary) -> list[Row]:
    return [
        {
            "image": image.index,
            "target": image.target,
            "kernel": kernel.name,
            "source": source(kernel.name),
            "file": kernel.source.file if kernel.source else None,
            **_needs(kernel),
        }
        for image in binary.images
        for kernel in kernels(binary, image)
    ]


def _needs(kernel: DeviceSymbol) -> Row:
    """What an image says that a kernel needs."""
    needs = kernel.resources or Resources(None, None, None)
    return {
        "registers": needs.registers,
        "shared": needs.shared,
        "stack": needs.stack,
        "SGPRs": needs.scalar_registers,
        "AGPRs": needs.accumulators,
        "VGPR spills": needs.vector_spills,
        "SGPR spills": needs.scalar_spills,
    }


def _symbols(binary: FatBinary) -> list[Row]:
    """Of images without a host: what one could name in its entries."""
    return [
        {
            "image": image.index,
            "kind": symbol.kind if symbol.is_told else "function",
            "name": symbol.name,
            "size": symbol.size,
        }
        for image in binary.images
        for symbol in _own(image)
    ]


def _own(image: DeviceImage) -> Sequence[DeviceSymbol]:
    """What an image is for: its table, with PTX's globals; without one, all that it exports."""
    if image.table is None or image.kind == "ptx":
        return image.symbols
    return image.table


def _states(images: int, rows: Sequence[Sequence[EntryState]]) -> Columns:
    if images > WIDE:
        return {"images": [_exceptions(states) for states in rows]}
    columns = {f"image {index}": [row[index] for row in rows] for index in range(images)}
    return {
        name: ["" if state == "unrelated" else state for state in states]
        for name, states in columns.items()
    }


def _exceptions(states: Sequence[EntryState]) -> str:
    """The images in which an entry is not as it should be."""
    by_state: dict[str, list[str]] = {}
    for index, state in enumerate(states):
        if state not in ("present", "unrelated"):
            by_state.setdefault(state, []).append(str(index))
    others = "; ".join(f"{state} in {', '.join(where)}" for state, where in by_state.items())
    return others or "present"


def _descriptors(binary: FatBinary) -> list[Row]:
    return [
        {
            "descriptor": index,
            "address": hexadecimal(descriptor.address),
            "offset": hexadecimal(descriptor.offset),
            "images": ", ".join(map(str, descriptor.images)) or "none",
            "entries": _range(descriptor.entries_begin, descriptor.entries_end),
            "registered by": descriptor.registered_by or "nothing found",
        }
        for index, descriptor in enumerate(binary.descriptors)
    ]


def _registrations(binary: FatBinary) -> list[Row]:
    """With the runtimes of CUDA, HIP and SYCL."""
    return [
        {
            "registration": index,
            "runtime": row.model,
            "address": hexadecimal(row.address),
            "offset": hexadecimal(row.offset),
            "images": runs(row.images) or "none",
            "registered by": row.registered_by or "nothing found",
        }
        for index, row in enumerate(binary.registrations)
    ]


def _range(begin: int | None, end: int | None) -> str:
    if begin is None or end is None:
        return "set by the linker"
    return f"{begin:#x}..{end:#x}"


def dump_json(binaries: Iterable[FatBinary], errors: Sequence[Unread]) -> Iterator[str]:
    """The document of schemas/dump.json, in pieces; `errors` may grow while files are read."""
    return document(map(_dumped, binaries), map(Unread.row, errors))


def _dumped(binary: FatBinary) -> Row:
    is_host = binary.machine is not None
    return {
        "path": portable(binary.path),
        "host": {"machine": binary.machine, "type": binary.type} if is_host else None,
        "abi": binary.abi,
        "images": [dumped_image(binary, image) for image in binary.images],
        "entries": map(_dumped_entry, binary.entries, entry_states(binary)),
        "unsourced": binary.unsourced,
        "descriptors": [
            {
                "address": descriptor.address,
                "offset": descriptor.offset,
                "images": descriptor.images,
                "entries": _dumped_range(descriptor.entries_begin, descriptor.entries_end),
                "registered_by": descriptor.registered_by,
            }
            for descriptor in binary.descriptors
        ],
        "registrations": [
            {
                "runtime": row.model,
                "address": row.address,
                "offset": row.offset,
                "images": row.images,
                "registered_by": row.registered_by,
            }
            for row in binary.registrations
        ],
    }


def _dumped_entry(entry: OffloadEntry, states: Sequence[EntryState]) -> Row:
    return {
        "index": entry.number,
        "kind": entry.kind,
        "model": entry.model,
        "name": entry.name or None,
        "source": source(entry.name),
        "file": entry.source.file if entry.source else None,
        "line": entry.source.line if entry.source else None,
        "address": entry.address,
        "symbol": entry.symbol,
        "size": entry.size,
        "flags": entry.flags,
        "images": states,
    }


def kernels(binary: FatBinary, image: DeviceImage) -> list[DeviceSymbol]:
    """The kernels that an image has for a host."""
    found = (symbol for symbol in _own(image) if symbol.kind == "kernel")
    return [symbol for symbol in found if symbol.is_told or symbol.name in binary.named]


def kernel_names(binary: FatBinary, image: DeviceImage) -> list[str]:
    """Their names."""
    return [kernel.name for kernel in kernels(binary, image)]


def dumped_image(binary: FatBinary, image: DeviceImage) -> Row:
    """An image as it is in every document."""
    return {
        "index": image.index,
        "container": image.container,
        "within": image.within,
        "kind": image.kind,
        "triple": image.triple or None,
        "arch": image.processor or None,
        "size": image.size,
        "offset": image.offset,
        "uri": uri(binary, image),
        "address": image.address,
        "compression": image.compression,
        "stored_size": image.stored_size,
        "sha256": image.sha256,
        "member": image.member,
        "kernels": kernel_names(binary, image),
        "sources": [
            {"kernel": kernel.name, "file": kernel.source.file, "line": kernel.source.line}
            for kernel in kernels(binary, image)
            if kernel.source
        ],
        "globals": [
            {"name": symbol.name, "size": symbol.size or None}
            for symbol in image.symbols
            if symbol.kind == "global" and symbol.listed
        ],
        "undefined": image.contents.links.undefined,
        "needed": image.contents.links.needed,
        "resources": [
            {"kernel": kernel.name, **_dumped_needs(kernel.resources)}
            for kernel in kernels(binary, image)
            if kernel.resources
        ],
        "machine": image.contents.machine,
        "declared_kind": image.declared_kind,
        "declared_arch": image.arch or None,
        "problem": image.contents.problem,
    }


def _dumped_needs(needs: Resources) -> Row:
    """The last four are AMD's alone."""
    own = {
        "sgprs": needs.scalar_registers,
        "agprs": needs.accumulators,
        "vgpr_spills": needs.vector_spills,
        "sgpr_spills": needs.scalar_spills,
    }
    known = {name: number for name, number in own.items() if number is not None}
    return {
        "registers": needs.registers,
        "shared": needs.shared,
        "stack": needs.stack,
        **known,
    }


def _dumped_range(begin: int | None, end: int | None) -> dict[str, int] | None:
    return None if begin is None or end is None else {"begin": begin, "end": end}
