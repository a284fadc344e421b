"""What `omptool doctor` says, as text for people and as JSON for programs."""

from __future__ import annotations

import json
from itertools import groupby
from typing import Any

from omptool.console import portable, shown
from omptool.installation import LIBRARY
from omptool.render.tables import counted, table
from packager.machine.facts import FOLDERS, Diagnosis, ImageFate, Machine, Plugins
from packager.machine.llvm_runtime import Outcome
from packager.machine.program import LIBTARGET
from packager.model import FatBinary

STARTED = {
    "device": "regions run on a device",
    "host": "regions run on the host",
    "fails": "it fails",
    "unknown": "not foreseen",
}
# Variables that change where regions run, as they are shown.
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


def as_text(binary: FatBinary, machine: Machine, plugins: Plugins, diagnosis: Diagnosis) -> str:
    """The diagnosis for people, the verdict first."""
    blocks = [f"{shown(binary.path)}: {_verdict(binary, diagnosis)}"]
    if binary.is_empty:
        return blocks[0]
    if diagnosis.without_run:
        blocks.append(_without_run(machine, diagnosis.without_run))
    blocks.append(table("libraries", _libraries(machine)))
    if plugins:
        blocks.append(table("plugins", _plugins(plugins)))
    blocks.append(table("images", _images(diagnosis)))
    blocks.append(table("entries", _entries(diagnosis)))
    variables = [
        {"variable": name, "value": machine.environment[name]}
        for name in VARIABLES
        if name in machine.environment
    ]
    if variables:
        blocks.append(table("environment", variables))
    for finding in diagnosis.findings:
        blocks.append(f"{finding.code} {finding.severity}: {finding.message}\n    {finding.hint}")
    return "\n".join(blocks)


def _verdict(binary: FatBinary, diagnosis: Diagnosis) -> str:
    if binary.is_empty:
        return "no offload code"
    total = len(diagnosis.entries)
    if not total:
        return "it has nothing to offload"
    away = sum(1 for fate in diagnosis.entries if not fate.reason)
    devices = counted(diagnosis.devices, "device", "devices")
    where = "on GCC's libgomp" if binary.abi == "gcc" else "under `omptool run`"
    if diagnosis.obstacle:
        return f"{where} it does not start: {diagnosis.obstacle}"
    if diagnosis.end:
        return f"{where} its first region fails: {diagnosis.end}"
    if away == total:
        return f"{where} everything runs on a device ({devices})"
    reasons = list(dict.fromkeys(fate.reason for fate in diagnosis.entries if fate.reason))
    what = f"{total - away} of {counted(total, 'entry', 'entries')}"
    return f"{where} {what} stay on the host ({devices}): {reasons[0]}"


def _without_run(machine: Machine, outcome: Outcome) -> str:
    """What happens when it is started by itself."""
    runtime = machine.runtime
    release = f" of LLVM {runtime.release}" if runtime and runtime.release else ""
    on = f", on {runtime.path}{release}" if runtime else ""
    return f"started by itself{on}: {STARTED[outcome.where]} ({outcome.reason})"


def _libraries(machine: Machine) -> list[dict[str, Any]]:
    names = (LIBRARY, LIBTARGET, "libomp.so", "libiomp5.so", "libgomp.so")
    return [
        {"library": library.name, "the loader picks": str(library.path or "nothing")}
        for library in machine.libraries
        if library.name.startswith(names) or library.path is None
    ]


def _plugins(plugins: Plugins) -> list[dict[str, Any]]:
    return [
        {
            "plugin": row["name"],
            "state": row["state"],
            "devices": len(row["devices"]),
            "reason": row["reason"],
        }
        for row in plugins
        if row["name"] != FOLDERS  # of which a finding speaks
    ]


def _images(diagnosis: Diagnosis) -> list[dict[str, Any]]:
    """A row for each image; neighbours that are alike share one, as GCC's library is many."""
    rows = []
    for alike, group in groupby(diagnosis.images, key=_said):
        numbers = [fate.image.index for fate in group]
        which = f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else numbers[0]
        rows.append({"image": which, **dict(alike)})
    return rows


def _said(fate: ImageFate) -> tuple[tuple[str, str], ...]:
    return (
        ("kind", fate.image.kind),
        ("target", fate.image.target),
        ("devices", " ".join(map(str, fate.devices)) or "none"),
        ("rule", fate.rule),
    )


def _entries(diagnosis: Diagnosis) -> list[dict[str, Any]]:
    return [
        {
            "entry": fate.entry.number,
            "kind": fate.entry.kind,
            "name": fate.entry.label,
            "runs on": fate.runs_on,
            "reason": fate.reason,
        }
        for fate in diagnosis.entries
    ]


def _picked(machine: Machine, diagnosis: Diagnosis) -> dict[str, Any] | None:
    """What the loader picks without `omptool run`, and what that makes of the program."""
    if diagnosis.without_run is None:
        return None
    return {
        "path": portable(machine.runtime.path) if machine.runtime else None,
        "llvm": machine.runtime.release if machine.runtime else None,
        "outcome": diagnosis.without_run.where,
        "reason": diagnosis.without_run.reason,
    }


def as_json(binary: FatBinary, machine: Machine, plugins: Plugins, diagnosis: Diagnosis) -> str:
    """The document of schemas/doctor.json."""
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
            "images": [
                {
                    "index": fate.image.index,
                    "device": fate.devices[0] if fate.devices else None,
                    "devices": fate.devices,
                    "accepted": fate.plugin is not None,
                    "rule": fate.rule,
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
                }
                for fate in diagnosis.entries
            ],
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
