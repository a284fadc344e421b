# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The findings of `omptool run --check` as SARIF 2.1.0. A place is a line of a source file."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

from omptool.console import portable
from omptool.render.exchange import sarif
from omptool.render.exchange.sarif import Json
from omptool.render.runs.check_run import region, remarks
from packager.machine.run_check.check_codes import CODES
from packager.machine.run_check.check_run import CheckFinding, CheckRun, SourceLine

# SARIF's levels by severity.
LEVELS = {"error": "error", "hint": "note"}
MOST = (1 << 31) - 1  # largest number in viewers


def log(run: CheckRun) -> str:
    """Return the log of one run of a program."""
    rules = [sarif.rule(code, CODES[code].name, CODES[code].text) for code in CODES]
    results = [_result(run, finding) for finding in run.findings]
    return "".join(sarif.whole([run.program], rules, _invocation(run), results))


def _invocation(run: CheckRun) -> Json:
    """Return how the program ended. The check itself succeeds, however that was."""
    notes = [{"level": "error", "message": {"text": remark}} for remark in remarks(run)]
    found: Json = {"executionSuccessful": True, "toolExecutionNotifications": notes}
    if run.signal is None:
        return {**found, "exitCode": run.exit_code}
    found["exitSignalNumber"] = run.signal
    with suppress(ValueError):  # real-time signals have no name
        found["exitSignalName"] = signal.Signals(run.signal).name
    return found


def _result(run: CheckRun, finding: CheckFinding) -> Json:
    found: Json = {
        "ruleId": finding.code,
        "ruleIndex": list(CODES).index(finding.code),
        "level": LEVELS[finding.severity],
        "message": {"text": sarif.plain(finding.message)},
        "occurrenceCount": min(max(finding.times, 1), MOST),
        "locations": [_location(run, finding)],
        "properties": _properties(finding),
    }
    if finding.construct and finding.construct != finding.place:
        about = {"text": "the construct"}
        found["relatedLocations"] = [{"id": 0, **_in_source(finding.construct), "message": about}]
    return found


def _properties(finding: CheckFinding) -> Json:
    return {
        "variable": finding.variable or None,
        "entry": finding.entry or None,
        "device": finding.device,
        "device_title": finding.device_title or None,
        "size": finding.size,
        "bytes": finding.total,
    }


def _location(run: CheckRun, finding: CheckFinding) -> Json:
    """Return the place in the source, else the file that called, else the program."""
    if finding.place:
        found = _in_source(finding.place)
    else:
        file = os.fsdecode(finding.call.file) if finding.call else run.program
        found = {"physicalLocation": {"artifactLocation": sarif.artifact(file)}}
    function = region(finding) if finding.entry else finding.call_function
    if function:
        found["logicalLocations"] = [{"fullyQualifiedName": portable(function), "kind": "function"}]
    return found


def _in_source(place: SourceLine) -> Json:
    found: Json = {"artifactLocation": sarif.artifact(place.file)}
    if place.line:
        column = {"startColumn": place.column} if place.column else {}
        found["region"] = {"startLine": place.line, **column}
    return {"physicalLocation": found}
