# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole programs on the GPU: of portable kernels, and of clang's OpenMP."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from kit.machine import Done, Machine, at_once
from kit.report import Report

# Message of a program that requires memory out of the GPU's reach.
LACKS = "it requires unified_shared_memory (the GPU reaches no pageable memory"
MANDATORY = {"OMP_TARGET_OFFLOAD": "MANDATORY", "OMP_NUM_THREADS": "4"}


def run(machine: Machine, report: Report) -> None:
    """Run all programs of the manifest."""
    for one in machine.manifest["not built"]:
        if report.wants(one["name"]):
            report.skipped(one["name"], f"is not in this kit: {one['why']}")
    is_amd = any(name.startswith("conformance.gfx") for name in machine.images)
    for plugin in machine.plugins:
        kinds = {plugin} if is_amd or plugin != "liboffload" else {plugin, "liboffload of CUDA"}
        asked = [
            one
            for one in machine.manifest["programs"]
            if kinds & {*one["plugins"]} and report.wants(one["name"])
        ]
        outcomes = at_once(partial(_fault_of, machine, plugin), asked)
        for one, (fault, detail) in zip(asked, outcomes, strict=True):
            name = f"{one['name']}, {plugin}"
            if LACKS in fault:  # which the plugin has to say, and has said
                report.skipped(name, fault)
            else:
                report.test(name, fault, detail)


def _fault_of(machine: Machine, plugin: str, one: dict[str, Any]) -> tuple[str, str]:
    """Return the fault of a program's run, or "", and further facts."""
    command = [machine.kit / one["file"], *one["arguments"]]
    if plugin == "cuda" and machine.is_fake:
        return _launches(machine, command)
    done = machine.start(command, MANDATORY | {"OMPTOOL_PLUGINS": plugin})
    is_right = done.code == 0 and not done.err
    if one["output"] is not None:
        is_right = is_right and done.out == one["output"]
    if is_right:
        return "", f"{done.seconds:.1f} s"
    fault = done.told()
    if done.err.strip() and done.out.strip():
        fault += " | " + " | ".join(done.out.split("\n")[:6])
    return fault, ""


def _launches(machine: Machine, command: list[object]) -> tuple[str, str]:
    """Count launches on the fake driver, where results are wrong and programs may abort."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        done = machine.start(command, {"FAKE_CUDA_LOG": str(log), "FAKE_CUDA_PAGEABLE": "1"})
        calls = log.read_text().splitlines() if log.exists() else []
    launches = [call for call in calls if call.startswith("cuLaunchKernel")]
    refused = [call for call in launches if not call.endswith("= 0")]
    if _is_sound(done) and not refused and (launches or done.code == 0):
        return "", f"{len(launches)} launches on the fake driver"
    return f"{len(launches)} launches, {len(refused)} refused: {done.told()}", ""


def _is_sound(done: Done) -> bool:
    ended_itself = done.code >= 0 or "omptarget" not in done.err
    return ended_itself and "FAKE:" not in done.err and "runs on the host" not in done.err
