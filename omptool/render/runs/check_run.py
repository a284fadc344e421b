# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The findings of `omptool run --check`, as text for people and as JSON for programs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from omptool.console import SEVERITIES, coloured, portable, shown
from packager.machine.run_check.check_run import CheckFinding, CheckRun, FilePlace, SourceLine
from packager.naming.region_names import short_name
from packager.wording import counted

REPEATED = "OMP315"  # code whose message counts repetitions


def lines(run: CheckRun) -> Iterator[str]:
    """Yield a line for each finding with its place first, one with its facts, and the sums."""
    for finding in run.findings:
        severity = coloured(finding.severity, SEVERITIES[finding.severity], err=True)
        yield f"{_where(run, finding)}: {finding.code} {severity}: {_message(finding)}"
        facts = "; ".join(_facts(finding))
        if facts:
            yield f"    {facts}"
    yield from remarks(run)
    yield from _without_lines(run)
    yield _verdict(run)


def _message(finding: CheckFinding) -> str:
    """Return the finding's message, and how often it happened where the sentence is about that."""
    if finding.code != REPEATED or finding.times < 2:
        return finding.message
    fault, colon, cure = finding.message.partition(": ")
    return f"{fault}, {finding.times:,} times{colon}{cure}"


def _without_lines(run: CheckRun) -> Iterator[str]:
    """Yield a line for each file that lacks the lines of its findings."""
    places = [one for one in run.findings if one.call_function and not one.place]
    without = (one.call.file for one in places if one.call)
    for file in dict.fromkeys(without):
        yield f"{shown(os.fsdecode(file))} has no source lines: compile with -g for lines"


def remarks(run: CheckRun) -> list[str]:
    """Return the reasons why the findings may be incomplete."""
    recorded = run.recorded
    said = []
    if not recorded.is_whole:
        said.append("the program has overwritten the checker's table: its findings are lost")
    if recorded.damaged:
        records = counted(recorded.damaged, "record")
        said.append(f"the program has overwritten {records} of the checker's table")
    if recorded.lost:
        findings = counted(recorded.lost, "finding")
        said.append(f"the checker's table is full: it has no place for {findings}")
    return said


def _verdict(run: CheckRun) -> str:
    found = [
        counted(count, severity) for severity in ("error", "hint") if (count := run.count(severity))
    ]
    if not found and not run.recorded.processes:
        return "the checker saw nothing: the program asked nothing of omptool's runtime"
    return f"the checker found {' and '.join(found) or 'nothing'}"


def _where(run: CheckRun, finding: CheckFinding) -> str:
    """Return the place in the source, else that in the file that called, else the program."""
    if finding.place:
        return str(_near(finding.place))
    if finding.call and finding.call_function:
        return f"{shown(os.fsdecode(finding.call.file))}: {finding.call_function}"
    if finding.call:
        return f"{shown(os.fsdecode(finding.call.file))}+{finding.call.offset:#x}"
    return shown(run.program)


def _near(place: SourceLine) -> SourceLine:
    """Return a place with its file relative to this folder, if the file is in it."""
    return place._replace(file=place.file.removeprefix(f"{Path.cwd()}/"))


def _facts(finding: CheckFinding) -> Iterator[str]:
    is_named = finding.address and f"{finding.address:#x}" in finding.message
    if (finding.variable or finding.address) and not is_named:
        yield _object(finding)
    if finding.entry:
        yield f"region {region(finding)}"
    if finding.construct and finding.construct != finding.place:
        yield f"construct at {_near(finding.construct)}"
    if finding.kernel_line and finding.kernel_line != finding.place:
        yield f"kernel at {_near(finding.kernel_line)}"
    if finding.kernel and not finding.kernel_line:
        yield f"instruction {finding.kernel:#x} of the kernel's image"
    if finding.device is not None:
        title = f" ({shown(finding.device_title)})" if finding.device_title else ""
        yield f"device {finding.device}{title}"
    if finding.times > 1 and finding.code != REPEATED:
        yield f"{finding.times:,} times"
    if finding.total:
        yield f"{_bytes(finding.total)} in all"


def _object(finding: CheckFinding) -> str:
    at = f"at {finding.address:#x}" if finding.address else ""
    size = f"({_bytes(finding.size)})" if finding.size else ""
    return " ".join(part for part in (finding.variable or "memory", at, size) if part)


def _bytes(number: int) -> str:
    return "1 byte" if number == 1 else f"{number:,} bytes"


def region(finding: CheckFinding) -> str:
    """Return the function and line of a region, or else its raw name."""
    return short_name(finding.entry) or finding.entry


def as_json(run: CheckRun) -> str:
    """Return the document of schemas/run-check.json."""
    return json.dumps(
        {
            "schema": 1,
            "program": portable(run.program),
            "level": run.level,
            "exit_code": run.exit_code,
            "signal": run.signal,
            "errors": run.count("error"),
            "hints": run.count("hint"),
            "findings": [_row(finding) for finding in run.findings],
            "lost": run.recorded.lost,
            "damaged": run.recorded.damaged,
            "is_whole": run.recorded.is_whole,
            "processes": run.recorded.processes,
        },
        indent=2,
    )


def _row(finding: CheckFinding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "severity": finding.severity,
        "message": finding.message,
        "variable": finding.variable or None,
        "entry": finding.entry or None,
        "region": region(finding) if finding.entry else None,
        "place": _line(finding.place),
        "construct": _line(finding.construct),
        "call": _offset(finding.call),
        "function": finding.call_function or None,
        "kernel": finding.kernel or None,
        "device": finding.device,
        "device_title": finding.device_title or None,
        "process": finding.process,
        "address": finding.address or None,
        "size": finding.size,
        "count": finding.times,
        "bytes": finding.total,
    }


def _line(place: SourceLine | None) -> dict[str, Any] | None:
    return place._asdict() if place else None


def _offset(place: FilePlace | None) -> dict[str, Any] | None:
    return {"file": portable(os.fsdecode(place.file)), "offset": place.offset} if place else None
