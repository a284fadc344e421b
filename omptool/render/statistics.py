# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Render `omptool stats`, as text for people, and as CSV and JSON for programs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from omptool.console import portable, shown
from omptool.render.tables import Number, Row, table
from packager.gates.grown import Difference, Fact
from packager.naming.region_names import short_names
from packager.questions.statistics import Called, Construct, Statistics, Times
from packager.traces.recorder import clean
from packager.wording import counted

SIGNS = {"added": "+", "removed": "-", "changed": "~"}
UNITS = (("s", 1e9), ("ms", 1e6), ("us", 1e3))
SIZES = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3))


def _in_units(value: float, units: Sequence[tuple[str, float]], least: str) -> Number:
    for unit, size in units:
        if value >= size:
            return Number(f"{value / size:.1f} {unit}")
    return Number(f"{value:.0f} {least}")


def _duration(nanoseconds: float) -> Number:
    return _in_units(nanoseconds, UNITS, "ns")


def _size(count: int) -> Number:
    return _in_units(count, SIZES, "B")


# Columns of programs in order, with title and form for people.
COLUMNS: dict[str, tuple[str, Callable[[Any], object]]] = {
    "name": ("region", str),
    "what": ("what", str),
    "source": ("source", str),
    "device": ("device", str),
    "times": ("times", int),
    "fallbacks": ("on the host", int),
    "share": ("share", lambda share: Number(f"{share:.1f} %")),
    "total_ns": ("total", _duration),
    "mean_ns": ("mean", _duration),
    "median_ns": ("median", _duration),
    "shortest_ns": ("shortest", _duration),
    "longest_ns": ("longest", _duration),
    "copies": ("copies", int),
    "to_device_bytes": ("to the device", _size),
    "to_host_bytes": ("to the host", _size),
    "between_bytes": ("between devices", _size),
    "bytes": ("bytes", _size),
}


OFTEN_ZERO = ("fallbacks", "copies", "to_device_bytes", "to_host_bytes", "between_bytes")
# Columns that a narrow terminal truncates, and columns that it omits, in order.
CUT = ("region", "source", "device")
SPARE = ("between devices", "shortest", "median", "copies", "longest", "source", "mean")


def rows(found: Statistics) -> dict[str, list[Row]]:
    """Return the rows of each table, the longest first, with nanoseconds and bytes as numbers."""
    names = short_names(
        (*(called.entry for called in found.constructs), *(name for name, _ in found.kernels))
    )
    ordered = sorted(found.constructs.items(), key=lambda item: -item[1].times.total)
    regions = [_construct(*item, names) for item in ordered if item[0].what == "target"]
    others = [_construct(*item, names) for item in ordered if item[0].what != "target"]
    return {
        "regions": regions,
        "data constructs": others,
        "kernels": _shared(
            {"name": _named(name, names), "device": device, **_times(times)}
            for (name, device), times in found.kernels.items()
        ),
        "copies": _shared(
            {"what": what, "device": device, **_times(times), "bytes": times.bytes}
            for (what, device), times in found.copies.items()
        ),
        "waits": _shared(
            {**_place(called, names), **_times(times)} for called, times in found.waits.items()
        ),
    }


def _construct(called: Called, one: Construct, names: Mapping[str, str]) -> Row:
    return {
        **_place(called, names),
        **_times(one.times),
        "fallbacks": one.fallbacks,
        "copies": one.copies,
        "to_device_bytes": one.to_device,
        "to_host_bytes": one.to_host,
        "between_bytes": one.between,
    }


def _place(called: Called, names: Mapping[str, str]) -> Row:
    return {
        "name": _named(called.entry, names) or None,
        "what": called.what,
        "source": called.source or None,
    }


def _named(entry: str, names: Mapping[str, str]) -> str:
    return clean(names.get(entry, entry))


def _times(times: Times) -> Row:
    durations = times.durations
    if not durations:
        return {"times": 0, "total_ns": 0}
    return {
        "times": times.count,
        "total_ns": round(times.total),
        "mean_ns": round(times.total / times.count),
        "median_ns": round(times.median()),
        "shortest_ns": round(min(durations)),
        "longest_ns": round(max(durations)),
    }


def _shared(found: Any) -> list[Row]:
    """Return the rows, the longest first, each with its percent of all."""
    ordered = sorted(found, key=lambda row: -row["total_ns"])
    total = sum(row["total_ns"] for row in ordered)
    for row in ordered:
        row["share"] = round(100 * row["total_ns"] / total, 2) if total else 0.0
    return ordered


def as_text(found: Statistics, width: int | None) -> str:
    """Return a table for people of each part that the trace has, at most `width` wide if given."""
    parts = rows(found)
    shown_parts = [title for title, part in parts.items() if part] or ["regions", "kernels"]
    return "\n\n".join(
        table(title, [_words(title, row) for row in parts[title]], width, CUT, SPARE)
        for title in shown_parts
    )


def _words(title: str, row: Row) -> Row:
    """Return a row for people, without constant columns and columns of zeros."""
    hidden = ("what",) if title == "regions" else ()
    return {
        head: None if row[key] is None or (key in OFTEN_ZERO and not row[key]) else form(row[key])
        for key, (head, form) in COLUMNS.items()
        if key in row and key not in hidden
    }


def as_csv(found: Statistics) -> str:
    """Return one table in CSV, whose first column names the part; without a trailing newline."""
    text = io.StringIO()
    written = csv.DictWriter(text, ["table", *COLUMNS], lineterminator="\n")
    written.writeheader()
    for title, part in rows(found).items():
        written.writerows({"table": title, **row} for row in part)
    return text.getvalue().removesuffix("\n")


def as_json(path: Path, found: Statistics, notes: Sequence[str]) -> str:
    """Return the document of schemas/stats.json."""
    parts = {title.replace(" ", "_"): part for title, part in rows(found).items()}
    document = {"schema": 1, "trace": portable(path), "notes": notes, **parts}
    return json.dumps(document, indent=2)


def differences_text(
    differences: Sequence[Difference], totals: Sequence[Fact], tolerance: float
) -> str:
    """Return a line for each construct that differs, marked where it grew, and the sums."""
    lines = [_difference(one, tolerance) for one in differences]
    return "\n".join((*lines, f"in all: {', '.join(map(_change, totals))}"))


def _difference(one: Difference, tolerance: float) -> str:
    name = f"{one.was} -> {one.name}" if one.was else one.name
    facts = ", ".join(_change(fact) for fact in one.facts)
    grew = " (grew)" if one.grew(tolerance) else ""
    return f"{SIGNS[one.change]} {one.what} {shown(name)}: {facts}{grew}"


def _change(fact: Fact) -> str:
    if fact.old == fact.new:
        return f"{fact.what} {fact.new}"
    return f"{fact.what} {fact.old} -> {fact.new}"


def grown_text(differences: Sequence[Difference], tolerance: float) -> str:
    """Return the number of constructs that grew, as text; "" for none."""
    count = sum(one.grew(tolerance) for one in differences)
    return f"{counted(count, 'construct')} grew by more than {tolerance:g} %" if count else ""


def differences_json(
    old: Path,
    new: Path,
    differences: Sequence[Difference],
    totals: Sequence[Fact],
    tolerance: float,
) -> str:
    """Return the document of schemas/stats-against.json."""
    document = {
        "schema": 1,
        "old": portable(old),
        "new": portable(new),
        "tolerance": tolerance,
        "grew": any(one.grew(tolerance) for one in differences),
        "totals": [fact._asdict() for fact in totals],
        "changes": [
            {
                "change": one.change,
                "what": one.what,
                "name": one.name,
                "was": one.was or None,
                "grew": one.grew(tolerance),
                "facts": [fact._asdict() for fact in one.facts],
            }
            for one in differences
        ],
    }
    return json.dumps(document, indent=2)
