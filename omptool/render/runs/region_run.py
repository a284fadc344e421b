# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The report of `omptool doctor --run`, as text for people and as JSON for programs."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterable, Mapping
from typing import Any

from omptool.console import portable, shown
from omptool.render.names import called, raw, source, terminal_width
from omptool.render.notes import Notes
from omptool.render.tables import table
from packager.machine.facts import GccRegions
from packager.machine.host_regions import Left, headline
from packager.machine.region_run import Region, RegionRun, names
from packager.model import HostOnly
from packager.wording import counted

NOT_LAUNCHED = "not launched (not called, or its `if` was false)"


def as_text(run: RegionRun, cause: str, *, is_wide: bool = False) -> str:
    """Return the verdict and the regions; `cause` is why there are none, if known."""
    blocks = [f"{shown(run.program)}: {_verdict(run)}; {ending(run)}"]
    named = _named(run)
    cut_off = names(one for one in run.regions if one.unfinished)
    blocks += [f"{named[one]} was running on a device when its process ended" for one in cut_off]
    width = terminal_width()
    notes = Notes(width=width)
    if run.regions or run.idle:
        rows = [_row(run, region, named, notes) for region in run.regions]
        rows += [_idle_row(named[region.name]) for region in run.idle]
        raw_names = [*(one.name for one in run.regions), *(one.name for one in run.idle)]
        for row, name in zip(rows, raw_names, strict=True):
            row["raw name"] = raw(name, named[name], is_wide=is_wide)
        width = None if is_wide else width
        blocks += [table("regions", rows, width, ["region"], states=["runs on"]), *notes.lines()]
    if not run.regions and cause:
        blocks.append(cause)
    blocks += [_left(run, path, cause) for path, cause in run.host_only if run.regions]
    files = dict.fromkeys((*run.libraries, *(one.path for one in run.of_gcc)))
    if files.keys() - {os.path.realpath(run.program)}:
        rows = [{"file": path} for path in files]
        blocks.append(table("files with target regions", rows, width, ["file"]))
    if run.lost:
        runs = counted(run.lost, "run")
        blocks.append(f"the report is full: it has no place for {runs}")
    return "\n".join(blocks)


def ending(run: RegionRun) -> str:
    """Return how the program ended."""
    if run.signal is not None:
        return f"{_signal_name(run.signal)} ended the program"
    return f"the program exited with {run.exit_code}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # real-time signals have no name
        return f"signal {number}"


def _verdict(run: RegionRun) -> str:
    ran = "" if run.of_gcc and not run.regions else _ran(run)
    return "; ".join(filter(None, (ran, headline(run.host_only), of_gcc(run.of_gcc))))


def of_gcc(files: Iterable[GccRegions]) -> str:
    """Return where libgomp runs the regions of files, in a clause; "" without a file."""
    return "; ".join(dict.fromkeys(one.sentence for one in files))


def _ran(run: RegionRun) -> str:
    total, idle = len(names(run.regions)), len(run.idle)
    rest = f"; {counted(idle, 'region')} {'was' if idle == 1 else 'were'} not launched"
    if not total:
        return "no region reached the runtime" + (rest if idle else "")
    regions = counted(total, "region")
    away = len(names(one for one in run.regions if one.device is None))
    on_device = f"{regions} ran, {'all ' if total > 1 else ''}on a device"
    return (f"{away} of {regions} ran on the host" if away else on_device) + (rest if idle else "")


def _left(run: RegionRun, path: str, cause: HostOnly) -> str:
    where = "" if path == run.program else f"{shown(path)}: "
    return f"{where}{cause.message}: {cause.cure}"


def _named(run: RegionRun) -> dict[str, str]:
    """Return the display name of each region of the run."""
    return called([*(region.name for region in run.regions), *(one.name for one in run.idle)])


def _row(run: RegionRun, region: Region, named: Mapping[str, str], notes: Notes) -> dict[str, Any]:
    return {
        "region": named[region.name],
        "process": region.process if len(run.processes) > 1 else None,
        "runs on": runs_on(region),
        "times": region.begun,
        "failed": region.failed or None,
        "note": notes.mark(region.reason),
    }


def _idle_row(name: str) -> dict[str, Any]:
    return {
        "region": name,
        "process": None,
        "runs on": NOT_LAUNCHED,
        "times": 0,
        "failed": None,
        "note": None,
    }


def runs_on(region: Region) -> str:
    """Return the place as `doctor` writes it: "host", "device 0 (cuda)"."""
    if region.device is None:
        return "host"
    return f"device {region.device} ({region.title})" if region.title else f"device {region.device}"


def as_json(run: RegionRun, cause: str) -> str:
    """Return the document of schemas/doctor-run.json."""
    return json.dumps(
        {
            "schema": 1,
            "program": portable(run.program),
            "exit_code": run.exit_code,
            "signal": run.signal,
            "regions": [
                {
                    "name": region.name,
                    "source": source(region.name),
                    "process": region.process,
                    "runs_on": runs_on(region),
                    "device": region.device,
                    "plugin": region.plugin or None,
                    "reason": region.reason or None,
                    "begun": region.begun,
                    "ended": region.ended,
                    "failed": region.failed,
                }
                for region in run.regions
            ],
            "not_launched": [
                {"name": one.name, "source": source(one.name), "file": portable(one.file)}
                for one in run.idle
            ],
            "files": [portable(path) for path in run.libraries],
            "no_region": cause if cause and not run.regions else None,
            "lost": run.lost,
            "host_only": host_only_rows(run.host_only),
            "gcc": gcc_rows(run.of_gcc),
        },
        indent=2,
    )


def host_only_rows(left: Iterable[Left]) -> list[dict[str, Any]]:
    """Return a row for each host-only region with a name, and for each file without names."""
    return [
        {"name": name, "source": source(name) if name else None, "file": portable(one.path)}
        for one in left
        for name in one.cause.regions or (None,)
    ]


def gcc_rows(files: Iterable[GccRegions]) -> list[dict[str, Any]]:
    """Return a row for each file with regions for libgomp."""
    return [
        {
            "file": portable(one.path),
            "regions": one.regions,
            "runs_on": one.runs_on,
            "reason": one.reason or None,
        }
        for one in files
    ]
