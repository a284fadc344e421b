"""What `omptool doctor` looks at, and how it says what it found."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from omptool.console import portable, shown
from omptool.installation import LIBRARY, libdir
from omptool.plugins import ask_plugins
from omptool.tables import counted, table
from packager.diagnosis import NODES, Answer, Diagnosis, Machine
from packager.loader import find_library, libraries
from packager.model import FatBinary
from packager.program import LIBTARGET

Plugins = list[dict[str, Any]]
# Variables that change where regions run, as they are shown.
VARIABLES = (
    "OMP_TARGET_OFFLOAD",
    "OMP_DEFAULT_DEVICE",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "CUDA_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "OMPTOOL_PLUGINS",
    "OMPTOOL_PLUGIN_PATH",
    "OMPTOOL_HOST_DEVICES",
)


def machine(
    program: Path, images: Sequence[Path], environment: dict[str, str], *, has_names: bool
) -> tuple[Machine, Plugins]:
    """What there is for `program`, whose images are in files; and the rows of the plugins.

    Raises MissingToolError when the plugins cannot be asked, FormatError for a bad program.
    """
    plugins, said = ask_plugins(images, environment, has_names=has_names)
    ready = {row["name"]: len(row["devices"]) for row in plugins if row["state"] == "ready"}
    answers = [[Answer(*row.values()) for row in rows] for rows in said]
    ours = [*sorted(libdir().glob(f"{LIBRARY}*")), libdir() / LIBTARGET]
    found = libraries(program, environment)
    here = {node for node, _ in NODES.values() if Path(node).exists()}
    here |= {driver for _, driver in NODES.values() if find_library(driver, environment)}
    return (
        Machine(
            libraries=found,
            under_run=libraries(program, environment, ours),
            devices=ready,
            answers=answers,
            environment=environment,
            files=frozenset(here),
            can_write_tmp=os.access("/tmp", os.W_OK | os.X_OK),
        ),
        plugins,
    )


def as_text(binary: FatBinary, machine: Machine, plugins: Plugins, diagnosis: Diagnosis) -> str:
    """The diagnosis for people, the verdict first."""
    blocks = [f"{shown(binary.path)}: {_verdict(binary, diagnosis)}"]
    if binary.is_empty:
        return blocks[0]
    blocks.append(table("libraries", _libraries(machine)))
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
    if away == total:
        return f"under `omptool run` everything runs on a device ({devices})"
    reasons = list(dict.fromkeys(fate.reason for fate in diagnosis.entries if fate.reason))
    what = f"{total - away} of {counted(total, 'entry', 'entries')}"
    return f"under `omptool run` {what} stay on the host ({devices}): {reasons[0]}"


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
    ]


def _images(diagnosis: Diagnosis) -> list[dict[str, Any]]:
    return [
        {
            "image": fate.image.index,
            "kind": fate.image.kind,
            "target": fate.image.target,
            "devices": " ".join(map(str, fate.devices)) or "none",
            "rule": fate.rule,
        }
        for fate in diagnosis.images
    ]


def _entries(diagnosis: Diagnosis) -> list[dict[str, Any]]:
    return [
        {
            "entry": fate.entry.index,
            "kind": fate.entry.kind,
            "name": fate.entry.label,
            "runs on": fate.runs_on,
            "reason": fate.reason,
        }
        for fate in diagnosis.entries
    ]


def as_json(binary: FatBinary, machine: Machine, plugins: Plugins, diagnosis: Diagnosis) -> str:
    """The document of schemas/doctor.json."""
    return json.dumps(
        {
            "schema": 1,
            "program": portable(binary.path),
            "runtime": {
                "abi": binary.abi,
                "devices": diagnosis.devices,
                "libraries": [
                    {"name": lib.name, "path": str(lib.path) if lib.path else None}
                    for lib in machine.libraries
                ],
                "plugins": plugins,
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
                    "index": fate.entry.index,
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
