# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The one suite over all plugins, on the real driver: CUDA's, and OpenCL's where one is here."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

from kit.machine import Machine, at_once
from kit.report import Report

# Number of kernels in flight: a driver's default number of queues to a GPU.
IN_FLIGHT = "8"
PATIENCE = 20.0  # seconds, for each case
COMMON = {
    "CONFORMANCE_IN_FLIGHT": IN_FLIGHT,
    "CONFORMANCE_KNOWS_EVENTS": "1",
    "CONFORMANCE_LOST_BY_FORK": "1",
    "CUDA_DEVICE_MAX_CONNECTIONS": "32",
    # Eager loading: a kernel loaded at its first launch may wait for kernels that run, and some of
    # these wait for others.
    "CUDA_MODULE_LOADING": "EAGER",
}


def run(machine: Machine, report: Report) -> None:
    """Run the suite on each image for this GPU in the kit, and on OpenCL."""
    for image in sorted((machine.kit / "images").glob("conformance.*")):
        if image.suffix == ".spv":
            if machine.has_opencl:
                # A CPU's driver may run one kernel at a time, and wait for kernels at exit.
                more = {"CONFORMANCE_IN_FLIGHT": "1", "CONFORMANCE_EXIT_WAITS": "1"}
                _suite(machine, report, "opencl", image.name, more)
            elif "opencl" in machine.asked:
                report.skipped("conformance opencl", machine.why_no_opencl)
        elif "cuda" in machine.plugins and image.suffix in (".ptx", f".sm_{machine.capability}"):
            _suite(machine, report, "cuda", image.name, {})
    for name in machine.images:
        if name.startswith("conformance.gfx") or name.endswith(f".sm_{machine.capability}"):
            # AMD's GPUs have four queues by default.
            _suite(machine, report, "liboffload", name, {"CONFORMANCE_IN_FLIGHT": "4"})


def _suite(machine: Machine, report: Report, plugin: str, image: str, more: dict[str, str]) -> None:
    """Run each test case in its own process, because a GPU's fault stays with the process."""
    program = machine.kit / "bin" / "conformance_tests"
    environment = COMMON | more
    environment["CONFORMANCE_PLUGIN"] = str(machine.kit / "lib" / f"libomptarget.rtl.{plugin}.so")
    environment["CONFORMANCE_IMAGE"] = str(machine.kit / "images" / image)
    listed = machine.start([program, "--list-test-cases"], environment)
    cases = [
        line
        for line in listed.out.splitlines()
        if not line.startswith(("[doctest]", "=====")) and line.strip()
    ]
    if listed.code != 0 or not cases:
        report.test(f"conformance {plugin}", f"its cases are not listed: {listed.told()}")
    names = [f"conformance {plugin} {image}: {case}" for case in cases]
    asked = {
        name: case
        for name, case in zip(names, cases, strict=True)
        if "[ends the process]" not in case and report.wants(name)
    }
    faults = at_once(partial(_fault_of, machine, program, environment), asked.values())
    for name, fault in zip(asked, faults, strict=True):
        report.test(name, fault)


def _fault_of(machine: Machine, program: Path, environment: dict[str, str], case: str) -> str:
    """Return why a test case did not pass, or ""."""
    chosen = f"--test-case={case.replace(',', '?')}"  # a comma separates filters
    done = machine.start([program, chosen], environment, PATIENCE)
    if done.code == 0 and re.search(r"test cases: +([1-9]\d*)", done.out):
        return ""
    return " | ".join([done.told(), *_said(done.out)])[:1500]


def _said(output: str) -> list[str]:
    """Return doctest's lines about failed assertions."""
    lines = [line.strip() for line in output.splitlines()]
    return [line for line in lines if line and not line.startswith(("[doctest]", "====="))]
