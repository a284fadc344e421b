"""FatBinaries and findings as text for people and as JSON for programs (DESIGN, "JSON")."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from omptool.reading import portable, shown
from packager.model import DeviceImage, DeviceSymbol, EntryState, FatBinary, Finding
from packager.pairing import entry_states

# More images than this make a table of states too wide: then only exceptions are listed.
WIDE = 4


class Parts(NamedTuple):
    """What `dump` shows."""

    images: bool
    entries: bool
    descriptors: bool


def dump_text(binary: FatBinary, parts: Parts) -> str:
    """The tables of a file, without a newline at the end."""
    path = shown(binary.path)
    if binary.is_empty:
        return f"{path}: no offload code"
    blocks = [f"{path}: {_headline(binary)}"]
    if parts.images:
        blocks.append(block("images", _images(binary)))
        blocks += [_damage(image) for image in binary.images if image.contents.problem]
    if parts.entries and binary.machine is None:
        blocks.append(block("symbols for a host", _symbols(binary)))
    elif parts.entries:
        blocks.append(block("entries", _entries(binary)))
    if parts.descriptors and binary.machine is not None:
        blocks.append(block("descriptors", _descriptors(binary)))
    return "\n".join(block for block in blocks if block)


def _headline(binary: FatBinary) -> str:
    if binary.machine is None:
        return "device images without a host"
    abi = f", ABI {binary.abi}" if binary.abi else ""
    return f"{binary.machine} {binary.type}{abi}"


def block(title: str, rows: Sequence[dict[str, Any]]) -> str:
    """A table with its title; columns that are empty throughout are left out."""
    if not rows:
        return f"no {title}"
    from tabulate import tabulate

    columns = [key for key in rows[0] if any(row[key] not in (None, "") for row in rows)]
    cells = [[_cell(row[key]) for key in columns] for row in rows]
    align = [
        "right" if any(isinstance(row[key], int) for row in rows) else "left" for key in columns
    ]
    return f"{title}:\n" + tabulate(cells, columns, disable_numparse=True, colalign=align)


def _cell(value: object) -> str:
    return "-" if value in (None, "") else str(value)


def _hex(value: int | None) -> str | None:
    return None if value is None else f"{value:#x}"


def _images(binary: FatBinary) -> list[dict[str, Any]]:
    return [
        {
            "image": image.index,
            "container": image.container,
            "kind": image.kind,
            "triple": image.triple or image.contents.machine,
            "arch": image.processor,
            "size": image.size,
            "compression": image.compression,
            "stored": image.stored_size,
            "offset": _hex(image.offset),
            "address": _hex(image.address),
            "sha256": image.sha256,
        }
        for image in binary.images
    ]


def _damage(image: DeviceImage) -> str:
    return f"image {image.index}: {image.contents.problem}"


def _entries(binary: FatBinary) -> list[dict[str, Any]]:
    return [
        {
            "entry": entry.index,
            "kind": entry.kind,
            "name": entry.name,
            "address": _hex(entry.address),
            "symbol": entry.symbol,
            "size": entry.size,
            "flags": _hex(entry.flags),
            "model": entry.model if entry.model != "openmp" else None,
            **_states(states),
        }
        for entry, states in zip(binary.entries, entry_states(binary), strict=True)
    ]


def _symbols(binary: FatBinary) -> list[dict[str, Any]]:
    """Of images without a host: what one could name in its entries."""
    return [
        {"image": image.index, "kind": symbol.kind, "name": symbol.name, "size": symbol.size}
        for image in binary.images
        for symbol in _own(image)
    ]


def _own(image: DeviceImage) -> Sequence[DeviceSymbol]:
    """What an image is for: its table, with PTX's globals; without one, all that it exports."""
    if image.table is None or image.kind == "ptx":
        return image.symbols
    return image.table


def _states(states: Sequence[EntryState]) -> dict[str, str]:
    if len(states) <= WIDE:
        return {
            f"image {index}": "" if state == "unrelated" else state
            for index, state in enumerate(states)
        }
    by_state: dict[str, list[str]] = {}
    for index, state in enumerate(states):
        if state not in ("present", "unrelated"):
            by_state.setdefault(state, []).append(str(index))
    others = "; ".join(f"{state} in {', '.join(where)}" for state, where in by_state.items())
    return {"images": others or "present"}


def _descriptors(binary: FatBinary) -> list[dict[str, Any]]:
    return [
        {
            "descriptor": index,
            "address": _hex(descriptor.address),
            "offset": _hex(descriptor.offset),
            "images": ", ".join(map(str, descriptor.images)) or "none",
            "entries": _range(descriptor.entries_begin, descriptor.entries_end),
            "registered by": descriptor.registered_by or "nothing found",
        }
        for index, descriptor in enumerate(binary.descriptors)
    ]


def _range(begin: int | None, end: int | None) -> str:
    if begin is None or end is None:
        return "set by the linker"
    return f"{begin:#x}..{end:#x}"


def dump_json(binaries: Iterable[FatBinary], errors: Sequence[dict[str, str]]) -> str:
    """The document of schemas/dump.json."""
    return _document([_dumped(binary) for binary in binaries], errors)


def _document(files: Sequence[dict[str, Any]], errors: Sequence[dict[str, str]]) -> str:
    import json

    return json.dumps({"schema": 1, "files": files, "errors": errors}, indent=2)


def _dumped(binary: FatBinary) -> dict[str, Any]:
    is_host = binary.machine is not None
    return {
        "path": portable(binary.path),
        "host": {"machine": binary.machine, "type": binary.type} if is_host else None,
        "abi": binary.abi,
        "images": [dumped_image(image) for image in binary.images],
        "entries": [
            {
                "index": entry.index,
                "kind": entry.kind,
                "model": entry.model,
                "name": entry.name or None,
                "address": entry.address,
                "symbol": entry.symbol,
                "size": entry.size,
                "flags": entry.flags,
                "images": states,
            }
            for entry, states in zip(binary.entries, entry_states(binary), strict=True)
        ],
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
    }


def kernel_names(image: DeviceImage) -> list[str]:
    """The kernels that an image has for a host."""
    return [symbol.name for symbol in _own(image) if symbol.kind == "kernel"]


def dumped_image(image: DeviceImage) -> dict[str, Any]:
    """An image as it is in every document."""
    return {
        "index": image.index,
        "container": image.container,
        "kind": image.kind,
        "triple": image.triple or None,
        "arch": image.processor or None,
        "size": image.size,
        "offset": image.offset,
        "address": image.address,
        "compression": image.compression,
        "stored_size": image.stored_size,
        "sha256": image.sha256,
        "member": image.member,
        "kernels": kernel_names(image),
        "machine": image.contents.machine,
        "declared_kind": image.declared_kind,
        "declared_arch": image.arch or None,
        "problem": image.contents.problem,
    }


def _dumped_range(begin: int | None, end: int | None) -> dict[str, int] | None:
    return None if begin is None or end is None else {"begin": begin, "end": end}


def verify_text(binary: FatBinary, findings: Sequence[Finding], codes: Sequence[str]) -> str:
    """A file's findings, or that there are none, and what was looked at."""
    path = shown(binary.path)
    if binary.is_empty:
        return f"{path}: no offload code"
    if not (binary.images or binary.tables or binary.descriptors):
        return f"{path}: nothing in a form that is checked"
    lines = []
    for finding in findings:
        lines.append(f"{path}: {finding.code} {finding.severity}: {finding.message}")
        lines.append(f"    {finding.hint}")
    if not findings:
        images = _count(len(binary.images), "image", "images")
        entries = _count(len(binary.entries), "entry", "entries")
        lines.append(f"{path}: no findings ({images}, {entries}; checked {_checked(codes)})")
    for image in binary.images:
        if image.contents.is_opaque and not image.contents.problem:
            what = f"image {image.index} is {image.kind} whose symbols are not read"
            lines.append(f"{path}: {what}: entries were not looked for in it")
    return "\n".join(lines)


def _checked(codes: Sequence[str]) -> str:
    from packager.checks import CHECKS

    return (
        f"all {len(codes)} codes" if list(codes) == list(CHECKS) else ", ".join(codes) or "nothing"
    )


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def verify_json(
    results: Iterable[tuple[FatBinary, Sequence[Finding]]],
    codes: Sequence[str],
    errors: Sequence[dict[str, str]],
) -> str:
    """The document of schemas/verify.json."""
    return _document(
        [
            {
                "path": portable(binary.path),
                "checked": codes,
                "findings": [
                    {
                        "code": finding.code,
                        "severity": finding.severity,
                        "message": finding.message,
                        "hint": finding.hint,
                        "entry": finding.entry,
                        "image": finding.image,
                    }
                    for finding in findings
                ],
            }
            for binary, findings in results
        ],
        errors,
    )
