# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults on a GPU, and the messages about them: DECISIONS 1, 3 and 23."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass, field

from kit.machine import Done, Machine
from kit.report import Report

FATAL = r"^omptarget fatal error: [^\n]*{}[^\n]*\n$"
LOST = FATAL.replace("^", r"^omptarget: device 0 \(cuda\) is lost [^\n]*\n", 1)


@dataclass(frozen=True)
class Case:
    """A program that must end so."""

    name: str
    program: str  # in the folder of faults; {other}: for an architecture that this GPU has not
    arguments: tuple[str, ...]
    code: int
    out: str  # patterns
    err: str
    environment: dict[str, str] = field(default_factory=dict)
    is_seen_on_the_fake: bool = False


CASES = (
    Case("nothing is wrong", "faults", ("right",), 0, "^device 7\n$", "^$"),
    Case(
        "a cubin of another architecture: its region runs on the host",
        "faults.{other}",
        ("right",),
        0,
        "^host 7\n$",
        r"runs on the host[^\n]*{other}",
        is_seen_on_the_fake=True,
    ),
    Case(
        "PTX too new for the driver: its region runs on the host",
        "faults.too_new",
        ("right",),
        0,
        "^host 7\n$",
        r"runs on the host[^\n]*(PTX|[Vv]ersion)",
        is_seen_on_the_fake=True,
    ),
    Case(
        "a kernel that faults: the device is lost, and SIGABRT",
        "faults",
        ("fault",),
        -signal.SIGABRT,
        "^$",
        LOST.format("fault[^\n]*CUDA_ERROR_ILLEGAL_ADDRESS"),
    ),
    Case(
        "a kernel that faults in a queue: the device is lost, and SIGABRT",
        "faults",
        ("fault_later",),
        -signal.SIGABRT,
        "^$",
        LOST.format("fault[^\n]*CUDA_ERROR_ILLEGAL_ADDRESS"),
    ),
    Case(
        "a kernel that never ends, OMPTOOL_KERNEL_TIMEOUT",
        "faults",
        ("endless",),
        -signal.SIGABRT,
        "^$",
        FATAL.format("endless[^\n]*OMPTOOL_KERNEL_TIMEOUT"),
        {"OMPTOOL_KERNEL_TIMEOUT": "2"},
    ),
    Case(
        "more threads than a team has: its region runs on the host",
        "faults",
        ("threads",),
        0,
        "^host 7\n$",
        r"runs on the host[^\n]*threads",
        is_seen_on_the_fake=True,
    ),
    Case(
        "more shared memory than there is: its region runs on the host",
        "faults_clang",
        (),
        0,
        "^host 7\n$",
        r"runs on the host[^\n]*bytes",
        {"LIBOMPTARGET_SHARED_MEMORY_SIZE": "100000000"},
        is_seen_on_the_fake=True,
    ),
    Case(
        "out of device memory: its region runs on the host",
        "faults",
        ("memory",),
        0,
        "^host 7\n$",
        r"runs on the host[^\n]*no memory",
        is_seen_on_the_fake=True,
    ),
    Case("a region after memory ran out", "faults", ("memory_then_right",), 0, "^device 7\n$", ""),
    Case(
        "1,000 kernel arguments: right, or its region runs on the host",
        "arguments",
        (),
        0,
        "^(device|host) 499500\n$",
        "^$|runs on the host",
    ),
)


def run(machine: Machine, report: Report) -> None:
    """Run each case in its own process."""
    if not machine.has_gpu:
        report.skipped("faults", machine.why_not)
        return
    other = "sm_75" if machine.capability != "75" else "sm_90"
    for case in CASES:
        program = machine.kit / "faults" / case.program.format(other=other)
        if not report.wants(case.name):
            continue
        if not program.exists():
            report.skipped(case.name, f"{program.name} is not in this kit")
            continue
        done = machine.start([program, *case.arguments], case.environment)
        if machine.is_fake and not case.is_seen_on_the_fake:
            fault = "" if "FAKE:" not in done.err else done.told()
            report.test(case.name, fault, f"the fake driver does not show it: {done.told()}")
            continue
        report.test(case.name, _fault_of(case, done, other), done.err.strip()[:300])


def _fault_of(case: Case, done: Done, other: str) -> str:
    """Return why it did not end so, or ""."""
    wanted = (
        ("exit code", str(done.code), f"^{case.code}$"),
        ("output", done.out, case.out),
        ("what it says", done.err, case.err.replace("{other}", other)),
    )
    for what, found, pattern in wanted:
        if not re.search(pattern, found):
            return f"{what} is not {pattern!r}: {done.told()}; stdout {done.out[:80]!r}"
    return ""
