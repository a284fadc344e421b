# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Render `omptool doctor`, as text for people and as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from omptool.console import SEVERITIES, coloured, portable, shown
from omptool.installation import LIBRARY
from omptool.render import ranks
from omptool.render.names import called, raw, terminal_width
from omptool.render.notes import Notes
from omptool.render.runs.region_run import gcc_rows, host_only_rows, of_gcc
from omptool.render.tables import table
from packager.checks import CHECKS
from packager.machine.facts import (
    FOLDERS,
    Diagnosis,
    ImageFate,
    Machine,
    OtherRuntime,
    Plugins,
)
from packager.machine.host_regions import headline
from packager.machine.llvm_runtime import Outcome
from packager.machine.other_runtimes import LIBRARIES, NAMES
from packager.machine.parts import Elsewhere, Whole
from packager.machine.program import LIBTARGET
from packager.model import FatBinary, Finding
from packager.records import NamedTuple
from packager.wording import counted

STARTED = {
    "device": "regions run on a device",
    "host": "regions run on the host",
    "fails": "it fails",
    "unknown": "not foreseen",
}
# Variables shown because they change where regions run.
VARIABLES = (
    "OMP_TARGET_OFFLOAD",
    "OMP_DEFAULT_DEVICE",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "CUDA_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "HSA_XNACK",
    "OMPTOOL_PLUGINS",
    "OMPTOOL_PLUGIN_PATH",
    "OMPTOOL_HOST_DEVICES",
)
# Findings about missing offload code: why there is none, where else it may be, and what code lacks.
OF_NO_CODE = ("OMP134", "OMP210", "OMP211")
# Columns of entries that a narrow terminal truncates, and columns that it omits.
CUT, SPARE = ("name", "file"), ("kind", "file")
# Longest rule that fits into a table; a longer one becomes a note.
SHORT_RULE = 40


class Said(NamedTuple):
    """The parts of the report about a program."""

    whole: Whole
    elsewhere: Sequence[Elsewhere]  # libraries with code for other runtimes
    machine: Machine
    plugins: Plugins
    diagnosis: Diagnosis

    @property
    def is_well(self) -> bool:
        """Return whether a device uses every entry, and the program has no fault."""
        found = self.diagnosis
        return found.offloads and all(one.severity != "error" for one in found.findings)


def as_text(said: Said, *, is_wide: bool = False) -> str:
    """Return the diagnosis as text, verdict first."""
    binary, machine, diagnosis = said.whole.binary, said.machine, said.diagnosis
    plugins = said.plugins if _asks_plugins(said) else []
    verdict = _whole_verdict(said)
    blocks = [f"{shown(binary.path)}: {verdict}"]
    width = terminal_width()
    notes = Notes(verdict, machine.deviceless.values(), width)
    width = None if is_wide else width
    if binary.is_empty:
        causes = (_finding(f, notes) for f in diagnosis.findings if f.code in OF_NO_CODE)
        return "\n".join([blocks[0], *_elsewhere(said), *causes])
    blocks += map(_other, diagnosis.others)
    if diagnosis.without_run:
        blocks.append(_without_run(machine, diagnosis.without_run, notes))
    blocks.append(table("libraries", _libraries(machine), width, ["the loader picks"]))
    if plugins:
        blocks += [
            table("plugins", _plugins(plugins, notes), width, states=["state"]),
            *notes.lines(),
        ]
    blocks += ranks.tables(plugins, width)
    rows = _images(said, notes)
    blocks += [table("images", rows, width, ["file", "rule", "target"], ["kind"]), *notes.lines()]
    if diagnosis.entries or not diagnosis.others:
        rows = _entries(said, notes, is_wide=is_wide)
        blocks += [table("entries", rows, width, CUT, SPARE, ["runs on"]), *notes.lines()]
    blocks += _elsewhere(said)
    variables = [
        {"variable": name, "value": machine.environment[name]}
        for name in VARIABLES
        if name in machine.environment
    ]
    if variables:
        blocks.append(table("environment", variables, width, ["value"]))
    blocks += (_finding(finding, notes) for finding in diagnosis.findings)
    return "\n".join(blocks)


def _finding(finding: Finding, notes: Notes) -> str:
    message = notes.shortened(finding.message)
    severity = coloured(finding.severity, SEVERITIES[finding.severity])
    return f"{finding.code} {severity}: {message}\n    {finding.hint}"


def _asks_plugins(said: Said) -> bool:
    """Return whether the program uses plugins of OpenMP's runtime."""
    binary = said.whole.binary
    return bool(binary.tables or binary.descriptors or not binary.registrations)


def _empty(said: Said) -> str:
    if said.whole.binary.is_debug_only:
        return "debug information alone"
    return "no offload code of its own" if said.elsewhere else "no offload code"


def _elsewhere(said: Said) -> list[str]:
    rows = [
        {
            "library": portable(one.path),
            "code for": ", ".join(f"{NAMES[model]} runtime" for model in one.models),
        }
        for one in said.elsewhere
    ]
    return [table("libraries with code for other runtimes", rows)] if rows else []


def _other(other: OtherRuntime) -> str:
    """Return the library, driver and devices of another model's runtime, in a sentence."""
    name = NAMES[other.model]
    if other.library is None:
        library = f"{name} runtime is not among the libraries that it needs"
    else:
        library = f"{name} runtime is {other.library}, {other.path or 'which is not found'}"
    drivers = " or ".join(f"{n} ({'here' if here else 'not here'})" for n, here in other.drivers)
    taken = f"a device takes {other.taken} of {counted(other.registrations, 'set')}"
    return f"{library}; its driver is {drivers}; {taken}"


def _of_others(diagnosis: Diagnosis) -> str:
    """Return the verdict on images that other runtimes register."""
    said = []
    for other in diagnosis.others:
        count = other.images or other.archived
        images = counted(count, "image" if other.images else "archived image")
        does = "does" if count == 1 else "do"
        run = "runs" if count == 1 else "run"
        fate = f"{does} not run here: {other.reason}" if other.reason else f"{run} on a device"
        said.append(f"{images} for {NAMES[other.model]} runtime {fate}")
    return "; ".join(said)


def _whole_verdict(said: Said) -> str:
    """Return the first line: regions for the host alone come first, as no runtime sees them."""
    binary, alone = said.whole.binary, headline(said.diagnosis.host_only)
    if binary.is_empty:
        return f"{_empty(said)}; {alone}" if alone else _empty(said)
    verdict, gccs = _verdict(binary, said.diagnosis), of_gcc(said.diagnosis.of_gcc)
    return "; ".join(filter(None, (alone, verdict, gccs)))


def _verdict(binary: FatBinary, diagnosis: Diagnosis) -> str:
    total = len(diagnosis.entries)
    if not total:
        return _of_others(diagnosis) or _nothing(diagnosis)
    away = sum(1 for fate in diagnosis.entries if not fate.reason)
    devices = counted(diagnosis.devices, "device")
    devices += "; predicted for the default device" if diagnosis.is_of_default else ""
    where = "on GCC's libgomp" if binary.abi == "gcc" else "under `omptool run`"
    if diagnosis.obstacle:
        return f"{where} it does not start: {diagnosis.obstacle}"
    if diagnosis.end:
        return f"{where} its first region fails: {diagnosis.end}"
    if away == total:
        what = "all else" if diagnosis.host_only or diagnosis.of_gcc else "everything"
        end = f", or ends by SIGILL: {diagnosis.unfit}" if diagnosis.unfit else ""
        return f"{where} {what} runs on a device ({devices}){end}"
    reasons = list(dict.fromkeys(fate.reason for fate in diagnosis.entries if fate.reason))
    what = f"{total - away} of {counted(total, 'entry')}"
    stay = "stays" if total - away == 1 else "stay"
    return f"{where} {what} {stay} on the host ({devices}): {reasons[0]}"


def _nothing(diagnosis: Diagnosis) -> str:
    """Return why no entry is there: an error of the file, if it has one."""
    errors = (f for f in diagnosis.findings if f.severity == "error" and f.code in CHECKS)
    wrong = next(errors, None)
    return f"its entries are not found: {wrong.message}" if wrong else "it has nothing to offload"


def _without_run(machine: Machine, outcome: Outcome, notes: Notes) -> str:
    """Return a sentence on the outcome of the program without `omptool run`."""
    runtime = machine.runtime
    release = f" of LLVM {runtime.release}" if runtime and runtime.release else ""
    on = f", on {runtime.path}{release}" if runtime else ""
    reason = notes.said(outcome.reason)
    return f"started by itself{on}: {STARTED[outcome.where]} ({reason})"


def _libraries(machine: Machine) -> list[dict[str, Any]]:
    names = (LIBRARY, LIBTARGET, "libomp.so", "libiomp5.so", "libgomp.so", *LIBRARIES.values())
    return [
        {"library": library.name, "the loader picks": str(library.path or "nothing")}
        for library in machine.libraries
        if library.name.startswith(names) or library.path is None
    ]


def _plugins(plugins: Plugins, notes: Notes) -> list[dict[str, Any]]:
    return [
        {
            "plugin": row["name"],
            "state": row["state"],
            "devices": len(row["devices"]),
            "note": notes.mark(row["reason"]),
        }
        for row in plugins
        if row["name"] != FOLDERS  # a finding reports it
    ]


def _images(said: Said, notes: Notes) -> list[dict[str, Any]]:
    """Return a row for each image; equal neighbours, such as GCC's library, share a row."""
    rows: list[dict[str, Any]] = []
    for alike, group in groupby(said.diagnosis.images, key=lambda fate: _said(said.whole, fate)):
        numbers = [fate.image.index for fate in group]
        which = f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else numbers[0]
        rows.append({"image": which, **dict(alike)})
    for row in rows:  # "plugin host accepts it" needs no note
        is_long = len(str(row["rule"])) > SHORT_RULE
        row["note"] = notes.mark(str(row["rule"])) if is_long else None
        if is_long:
            row["rule"] = "refused" if row["device"] == "none" else "accepted"
    return rows


def _said(whole: Whole, fate: ImageFate) -> tuple[tuple[str, str | None], ...]:
    return (
        ("file", _file(whole, whole.image_files[fate.image.index])),
        ("kind", fate.image.kind),
        ("target", fate.image.target),
        ("device", " ".join(map(str, fate.devices)) or ("one" if fate.taken else "none")),
        ("rule", fate.rule),
    )


def _file(whole: Whole, path: str) -> str | None:
    """Return the library's path if the program has libraries that offload, else None."""
    return shown(path) if whole.has_libraries else None


def _entries(said: Said, notes: Notes, *, is_wide: bool) -> list[dict[str, Any]]:
    names = called(fate.entry.label for fate in said.diagnosis.entries)
    return [
        {
            "name": names[fate.entry.label],
            "entry": fate.entry.number,
            "file": _file(said.whole, said.whole.entry_files[fate.entry.number]),
            "kind": fate.entry.kind,
            "runs on": fate.runs_on,
            "note": notes.mark(fate.reason),
            "raw name": raw(fate.entry.label, names[fate.entry.label], is_wide=is_wide),
        }
        for fate in said.diagnosis.entries
    ]


def _picked(machine: Machine, diagnosis: Diagnosis) -> dict[str, Any] | None:
    """Return the runtime that the loader picks without `omptool run`, and the outcome on it."""
    if diagnosis.without_run is None:
        return None
    return {
        "path": portable(machine.runtime.path) if machine.runtime else None,
        "llvm": machine.runtime.release if machine.runtime else None,
        "outcome": diagnosis.without_run.where,
        "reason": diagnosis.without_run.reason,
    }


def _dumped_other(other: OtherRuntime) -> dict[str, Any]:
    return {
        "runtime": other.model,
        "images": other.images,
        "library": other.library,
        "path": portable(other.path) if other.path else None,
        "drivers": [{"name": name, "is_here": is_here} for name, is_here in other.drivers],
        "registrations": other.registrations,
        "taken": other.taken,
        "reason": other.reason or None,
    }


def as_json(said: Said) -> str:
    """Return the document of schemas/doctor.json."""
    whole, machine, plugins, diagnosis = said.whole, said.machine, said.plugins, said.diagnosis
    binary = whole.binary
    return json.dumps(
        {
            "schema": 1,
            "program": portable(binary.path),
            "runtime": {
                "abi": binary.abi,
                "devices": diagnosis.devices,
                "obstacle": diagnosis.obstacle or diagnosis.end or None,
                "libraries": [
                    {"name": lib.name, "path": str(lib.path) if lib.path else None}
                    for lib in machine.libraries
                ],
                "plugins": plugins,
                "picked": _picked(machine, diagnosis),
            },
            "others": [_dumped_other(other) for other in diagnosis.others],
            "elsewhere": [
                {"path": portable(one.path), "runtimes": one.models} for one in said.elsewhere
            ],
            "images": [
                {
                    "index": fate.image.index,
                    "device": fate.devices[0] if fate.devices else None,
                    "devices": fate.devices,
                    "accepted": bool(fate.owners) or fate.taken,
                    "rule": fate.rule,
                    "file": portable(whole.image_files[fate.image.index]),
                }
                for fate in diagnosis.images
            ],
            "entries": [
                {
                    "index": fate.entry.number,
                    "name": fate.entry.name or None,
                    "kind": fate.entry.kind,
                    "runs_on": fate.runs_on,
                    "reason": fate.reason or None,
                    "file": portable(whole.entry_files[fate.entry.number]),
                }
                for fate in diagnosis.entries
            ],
            "host_only": host_only_rows(diagnosis.host_only),
            "gcc": gcc_rows(diagnosis.of_gcc),
            "findings": [
                {
                    "code": finding.code,
                    "severity": finding.severity,
                    "message": finding.message,
                    "hint": finding.hint,
                    "image": finding.image,
                }
                for finding in diagnosis.findings
            ],
        },
        indent=2,
    )
