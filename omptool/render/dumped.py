# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Render `omptool dump` as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from omptool.console import portable
from omptool.reading import Unread
from omptool.render.json_stream import document
from omptool.render.names import source
from omptool.render.tables import Row
from packager.model import DeviceImage, DeviceSymbol, EntryState, FatBinary, OffloadEntry, Resources
from packager.naming.demangle import demangled
from packager.pairing import entry_states
from packager.questions.kernels import Kernel, kernels, merged
from packager.questions.sorting import code_size
from packager.questions.wanted import Wanted


def dump_json(
    binaries: Iterable[FatBinary], errors: Sequence[Unread], wanted: Wanted
) -> Iterator[str]:
    """Yield the document of schemas/dump.json in pieces; `errors` may grow meanwhile."""
    return document((_dumped(binary, wanted) for binary in binaries), map(Unread.row, errors))


def _dumped(binary: FatBinary, wanted: Wanted) -> Row:
    is_host = binary.machine is not None
    images = list(wanted.images(binary))
    merged_kernels = (one for one in merged(binary, images) if wanted.names(one.name))
    return {
        "path": portable(binary.path),
        "host": {"machine": binary.machine, "type": binary.type} if is_host else None,
        "abi": binary.abi,
        "images": (dumped_image(binary, image) for image in images),
        "entries": (
            _dumped_entry(entry, [states[image.index] for image in images])
            for entry, states in zip(binary.entries, entry_states(binary), strict=True)
            if wanted.names(entry.name)
        ),
        "kernels": map(_dumped_kernel, merged_kernels),
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
        "archives": [
            {
                "library": one.library,
                "path": one.path,
                "files": [{"file": file, "architectures": archs} for file, archs in one.files],
            }
            for one in binary.archives
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


def _dumped_kernel(kernel: Kernel) -> Row:
    name = demangled(kernel.name)
    return {
        "name": kernel.name,
        "demangled": name if name != kernel.name else None,
        "images": [image.index for image in kernel.images],
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


def kernel_names(binary: FatBinary, image: DeviceImage) -> list[str]:
    """Return the names of an image's kernels that a host can launch."""
    return [kernel.name for kernel in kernels(binary, image)]


def uri(binary: FatBinary, image: DeviceImage) -> str:
    """Return the place of an image's bytes, as other tools write it; stored, if compressed."""
    path = binary.file or binary.path
    size = image.size if image.stored_size is None else image.stored_size
    return f"file://{portable(path)}#offset={image.offset}&size={size}"


def dumped_image(binary: FatBinary, image: DeviceImage) -> Row:
    """Return an image's members for any JSON document."""
    return {
        "index": image.index,
        "container": image.container,
        "container_version": image.container_version or None,
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
            {"kernel": kernel.name, **_dumped_needs(kernel, kernel.resources)}
            for kernel in kernels(binary, image)
            if kernel.resources
        ],
        "machine": image.contents.machine,
        "declared_kind": image.declared_kind,
        "producer": image.producer,
        "levels": [level._asdict() for level in image.levels],
        "declared_arch": image.arch or None,
        "problem": image.contents.problem,
    }


def _dumped_needs(kernel: DeviceSymbol, needs: Resources) -> Row:
    """Return the resources of a kernel; keys that not every image has are left out if unknown."""
    own = {
        "sgprs": needs.scalar_registers,
        "agprs": needs.accumulators,
        "vgpr_spills": needs.vector_spills,
        "sgpr_spills": needs.scalar_spills,
        "code": code_size(kernel),
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
