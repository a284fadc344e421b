"""What `omptool doctor` looks at, and how it says what it found."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

from omptool.console import portable, shown
from omptool.installation import LIBRARY, libdir
from omptool.kfd import processors
from omptool.plugins import ImageBytes, ask_cuda, ask_plugins
from omptool.tables import counted, table
from packager import libgomp
from packager.fates import NODES, Answer, Diagnosis, ImageFate, Machine, Tmp
from packager.loader import Library, find_library, lack_of, libraries, refusal
from packager.model import FatBinary
from packager.program import LIBTARGET
from packager.runtimes import compilers, picked
from packager.without_run import Outcome

Plugins = list[dict[str, Any]]
TMP = Path("/tmp")  # LLVM's runtimes put images there, whatever TMPDIR says
FOR_CUDA = ("ptx", "cubin")
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


def machine(
    binary: FatBinary, program: Path, images: Sequence[ImageBytes], environment: dict[str, str]
) -> tuple[Machine, Plugins]:
    """What there is for `program`, and its images; and the rows of the plugins.

    Raises MissingToolError when the plugins cannot be asked, FormatError for a bad program.
    """
    found = libraries(program, environment)
    drivers = {driver: find_library(driver, environment) for _, driver in NODES.values()}
    here = {node for node, _ in NODES.values() if Path(node).exists()}
    here |= {driver for driver, path in drivers.items() if path}
    has_cuda = any(image.kind in FOR_CUDA for image in binary.images)
    general = Machine(
        libraries=found,
        under_run=found,
        devices={},
        answers=[],
        environment=environment,
        files=frozenset(here),
        tmp=_tmp(),
        refusal=refusal(program),
        clangs=compilers(program),
        cuda=ask_cuda(drivers[libgomp.NVPTX.driver], environment) if has_cuda else None,
    )
    if binary.abi == "gcc":
        plugins_of_gcc = _libgomp_plugins(found, environment)
        return replace(general, libgomp_plugins=plugins_of_gcc, amd=processors()), []
    has_names = all(table.has_names for table in binary.tables)
    plugins, said = ask_plugins(images, environment, has_names=has_names)
    ours = [*sorted(libdir().glob(f"{LIBRARY}*")), libdir() / LIBTARGET]
    under_run = libraries(program, environment, ours)
    there = [*under_run, *(Library(path.name, "", path) for path in ours)]
    return (
        replace(
            general,
            under_run=under_run,
            lacks=_lacks(binary, there, environment),
            lacks_alone=_lacks(binary, found, environment),
            devices={r["name"]: len(r["devices"]) for r in plugins if r["state"] == "ready"},
            answers=[[Answer(*row.values()) for row in rows] for rows in said],
            runtime=picked(found, environment),
        ),
        plugins,
    )


def _lacks(binary: FatBinary, loaded: Sequence[Library], environment: dict[str, str]) -> list[str]:
    """What each image for the CPU needs that is not found; "" if nothing."""
    wanted = [
        (image.contents.links.needed, image.contents.links.search)
        if image.kind == "elf" and image.contents.machine == binary.machine
        else ((), ())
        for image in binary.images
    ]
    found = {one: lack_of(*one, loaded, environment) for one in set(wanted)}
    return [found[one] for one in wanted]


def _tmp() -> Tmp:
    left = sum(1 for _ in TMP.glob("tmpfile_*"))
    if not os.access(TMP, os.W_OK | os.X_OK):
        return Tmp("cannot be written to", left)
    is_noexec = os.statvfs(TMP).f_flag & os.ST_NOEXEC
    return Tmp("is mounted noexec" if is_noexec else "", left)


def _libgomp_plugins(found: Sequence[Library], environment: dict[str, str]) -> dict[str, Path]:
    """Where libgomp would find its plugins."""
    caller = next((lib.path for lib in found if lib.name.startswith(libgomp.LIBRARY)), None)
    places = ((kind, find_library(kind.plugin, environment, caller)) for kind in libgomp.KINDS)
    return {kind.name: path for kind, path in places if path}


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
                "obstacle": diagnosis.obstacle or None,
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
