# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Speed on the GPU, beside the driver's bare calls and LLVM 19's own runtime, in turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from kit.machine import Done, Machine
from kit.report import Report

RUNS = 3
MANDATORY = {"OMP_TARGET_OFFLOAD": "MANDATORY"}
Figures = dict[str, float]


@dataclass(frozen=True)
class Goal:
    """A ratio of two figures, and its goal."""

    name: str
    ours: str
    theirs: str
    of: str  # "llvm" or "bare", or "ours" for two figures of the same program
    asked: str


# Times are in nanoseconds and speeds in GB/s. A ratio is ours divided by theirs.
GOALS = (
    Goal("a launch and its wait, by the bare calls", "launch", "launch", "bare", "at most 1.3"),
    Goal("a launch and its wait, by LLVM's", "launch", "launch", "llvm", "at most 0.5"),
    Goal("a map of 64 bytes, by the bare calls", "map", "map", "bare", "at most 1.3"),
    Goal("a map of 64 bytes, by LLVM's", "map", "map", "llvm", "at most 0.5"),
    Goal("8 maps of 64 bytes, by LLVM's", "maps", "maps", "llvm", ""),
    Goal("1 GiB to the device, page-locked", "to-locked", "to-locked", "bare", "at least 0.95"),
    Goal("1 GiB back, page-locked", "from-locked", "from-locked", "bare", "at least 0.95"),
    Goal("1 GiB to the device, pageable", "to-pageable", "to-pageable", "bare", "at least 2"),
    Goal("1 GiB back, pageable", "from-pageable", "from-pageable", "bare", "at least 2"),
    Goal("1 GiB to the device, pageable, by LLVM's", "to-pageable", "to-pageable", "llvm", ""),
    Goal("1 GiB back, pageable, by LLVM's", "from-pageable", "from-pageable", "llvm", ""),
    Goal("triad, by the device's own copy", "triad", "copy", "bare", "at least 0.9"),
    Goal("triad, by LLVM's", "triad", "triad", "llvm", ""),
    Goal("saxpy, by the device's own copy", "saxpy", "copy", "bare", ""),
    Goal("a portable saxpy, by the device's own copy", "portable", "copy", "bare", ""),
    Goal("nowait: a transfer over another's kernel", "overlap", "whole", "ours", "at least 0.5"),
)


def run(machine: Machine, report: Report) -> None:
    """Run all programs in turn, and report the medians."""
    program = machine.kit / "figures" / "constructs"
    if not machine.has_gpu:
        report.skipped("figures", machine.why_not)
        return
    few = ["few"] if machine.is_fake else []
    programs: dict[str, Callable[[], Done]] = {
        "ours": lambda: machine.start([program, *few], MANDATORY),
        "overlap": lambda: machine.start([program, *few, "overlap"], MANDATORY),
        "bare": lambda: machine.start([machine.kit / "figures" / "bare", *few]),
        "portable": lambda: machine.start([machine.kit / "figures" / "portable", *few], MANDATORY),
    }
    llvm = machine.llvm() if machine.manifest["llvm"] else None
    if llvm:
        theirs = MANDATORY | {"LD_LIBRARY_PATH": machine.libraries(llvm)}
        programs["llvm"] = lambda: machine.start([program, *few], theirs)
    else:
        report.skipped("LLVM 19's runtime", machine.manifest["why no llvm"] or "not in this kit")
    found: dict[str, list[Figures]] = {who: [] for who in programs}
    for _ in range(RUNS):
        for who, start in list(programs.items()):
            done = start()
            if done.code == 0:
                found[who].append(_read(done.out))
                continue
            del programs[who]  # once is enough
            if who == "llvm":  # which is no fault of ours
                report.skipped(f"the figures' program, {who}", done.told())
            else:
                report.test(f"the figures' program, {who}", done.told())
    for who in programs:
        report.test(f"the figures' program, {who}", "")
    values = {who: _medians(runs) for who, runs in found.items()}
    values["ours"] |= values.pop("portable") | values.pop("overlap")
    values["ours"]["whole"] = 1.0
    if not machine.is_fake:  # whose speed says nothing
        for goal in GOALS:
            _compare(report, values, goal)


def _compare(report: Report, values: dict[str, Figures], goal: Goal) -> None:
    ours, theirs = values["ours"].get(goal.ours), values.get(goal.of, {}).get(goal.theirs)
    if ours is None or not theirs:
        report.skipped(goal.name, "one of its two programs has no such figure")
        return
    beside = {"ours": ours, goal.of if goal.of != "ours" else "of": theirs}
    report.figure(goal.name, {**beside}, ours / theirs, goal.asked)


def _read(output: str) -> Figures:
    """Parse lines of a name and a number."""
    words = (line.split() for line in output.splitlines())
    return {line[0]: float(line[1]) for line in words if len(line) == 2}


def _medians(runs: list[Figures]) -> Figures:
    return {name: median(run[name] for run in runs) for name in runs[0]} if runs else {}
