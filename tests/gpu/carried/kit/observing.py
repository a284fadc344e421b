# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Traces of whole programs on the GPU: each is whole, and has the program's kernels."""

from __future__ import annotations

import json
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from kit.machine import Machine, at_once
from kit.programs import LACKS, MANDATORY
from kit.report import Report

# One form of each program suffices.
FORM = ", clang 19, cubin"


def run(machine: Machine, report: Report) -> None:
    """Run each program of clang 19 with a trace."""
    if not machine.has_gpu:
        report.skipped("traces", machine.why_not)
        return
    named = [(one, f"a trace of {one['name']}") for one in machine.manifest["programs"]]
    asked = [(one, name) for one, name in named if name.endswith(FORM) and report.wants(name)]
    outcomes = at_once(partial(_fault_of, machine), [one for one, _ in asked])
    for (_, name), (fault, detail) in zip(asked, outcomes, strict=True):
        if LACKS in fault:
            report.skipped(name, fault)
        else:
            report.test(name, fault, detail)


def _fault_of(machine: Machine, one: dict[str, Any]) -> tuple[str, str]:
    """Return the fault of the program's end or its trace, or "", and the number of kernels."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder, "trace.json")
        command = [machine.kit / one["file"], *one["arguments"]]
        done = machine.start(command, MANDATORY | {"OMPTOOL_TRACE": str(trace)})
        if done.code != 0 and machine.is_fake:  # where results are wrong
            return "", "the program ends early on the fake driver"
        if done.code != 0 or done.err:
            return done.told(), ""
        events = json.loads(trace.read_text())
    if events[-1]["name"] != "trace_end":
        return "the trace has no end", ""
    failed = [event["name"] for event in events if event.get("args", {}).get("failed")]
    if failed:
        return f"the trace has failures: {', '.join(failed[:5])}", ""
    kernels = sum(event["name"].startswith("__omp_offloading_") for event in events)
    return ("", f"{kernels} kernels") if kernels else ("the trace has no kernel", "")
