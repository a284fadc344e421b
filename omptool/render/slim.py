# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Render `omptool slim`, as text for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from omptool.console import portable, shown
from omptool.render.tables import Number, Row, table
from packager.slimming.paths import Result
from packager.slimming.request import Request
from packager.slimming.slimmed import Share, merged

SIZES = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3))
NOTHING = "no device code"  # in a folder
LICENCE = "The licence of device code may forbid passing on a file without parts of it."


def as_text(results: Sequence[Result], width: int | None, *, is_dry: bool) -> str:
    """Return a table of files, one of architectures, and the sums."""
    if not any(result.files for result in results):
        return "\n".join(map(_nothing, results)) or NOTHING
    title = "files, as they would be" if is_dry else "files"
    blocks = [
        table(title, list(_files(results)), width, ["file"]),
        table("device code", [_share(share) for share in shares(results)], width),
        _sum(results, is_dry=is_dry),
    ]
    return "\n".join(blocks)


def _nothing(result: Result) -> str:
    what = "left alone" if result.reason else NOTHING
    return f"{shown(result.path)}: {what}"


def _files(results: Sequence[Result]) -> Iterator[Row]:
    for result in results:
        yield _file(shown(result.path), result.before, result.after)
        for one in result.files:
            if one.path != str(result.path):  # in a package
                name = shown(one.path.removeprefix(f"{result.path}:"))
                yield _file(f"- {name}", one.before, one.before if result.lacking else one.after)


def _file(name: str, before: int, after: int) -> Row:
    return {
        "file": name,
        "before": _size(before),
        "after": _size(after),
        "part": Number(f"{100 * after / before:.0f} %") if before else None,
    }


def _share(share: Share) -> Row:
    return {
        "architecture": shown(share.arch),
        "before": _size(share.before),
        "after": _size(share.after),
    }


def _size(count: int) -> Number:
    for unit, size in SIZES:
        if count >= size:
            return Number(f"{count / size:.1f} {unit}")
    return Number(f"{count} B")


def _sum(results: Sequence[Result], *, is_dry: bool) -> str:
    before = sum(result.before for result in results)
    after = sum(result.after for result in results)
    changed = [one for result in results if not result.lacking for one in result.files]
    removed = sum(share.before - share.after for one in changed for share in one.shares)
    if not removed:
        return "No file is changed."
    if before == after:
        verb = "would become" if is_dry else "have become"
        return f"{_size(removed)} of device code {verb} zeros. {LICENCE}"
    verb = "would go" if is_dry else "are gone"
    return f"{_size(before - after)} of {_size(before)} {verb}. {LICENCE}"


def shares(results: Sequence[Result]) -> tuple[Share, ...]:
    """Return the bytes of device code by architecture, in all files."""
    return merged(share for result in results for one in result.files for share in one.shares)


def notes(results: Sequence[Result]) -> Iterator[tuple[str, str]]:
    """Yield the name of each file that is left alone, in part or whole, and why."""
    for result in results:
        if result.reason:
            yield str(result.path), f"left alone: {result.reason}"
        for one in result.files:
            for note in one.notes:
                yield one.path, note


def as_json(request: Request, results: Sequence[Result]) -> str:
    """Return the document of `omptool/schemas/slim.json`."""
    document: dict[str, Any] = {
        "schema": 1,
        "kept": [kept.name for kept in request.keeps],
        "dry_run": request.is_dry,
        "files": [_document(result) for result in results],
        "device_code": [share._asdict() for share in shares(results)],
    }
    import json  # slow to load

    return json.dumps(document, indent=2)


def _document(result: Result) -> dict[str, Any]:
    return {
        "path": portable(result.path),
        "before": result.before,
        "after": result.after,
        "reason": result.reason or None,
        "members": [
            {
                "path": portable(Path(one.path)),
                "before": one.before,
                "after": one.after,
                "device_code": [share._asdict() for share in one.shares],
                "notes": list(one.notes),
                "lacking": list(one.lacking),
            }
            for one in result.files
        ],
    }
