# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Time whole commands in turn (A B A B ...), so that a machine's drift affects all alike."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import NamedTuple, TypeVar

T = TypeVar("T")


class Figures(NamedTuple):
    """Of one run: seconds, peak memory in MiB (of some 10 upwards), seconds of processors."""

    wall: float
    peak: float
    cpu: float


@dataclass
class Measured:
    """A command and the figures of its runs."""

    name: str
    command: Sequence[str]
    prepare: Callable[[], None] = lambda: None
    runs: list[Figures] = field(default_factory=list)

    def run(self) -> None:
        """Run the command once, and record its figures. Raises SystemExit if it fails."""
        self.prepare()
        self.runs.append(figures(self.command))


# A process inherits its parent's peak memory, so a small process starts the command.
STARTER = """
import resource, subprocess, sys, time
start = time.perf_counter()
code = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)
wall = time.perf_counter() - start
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(code, wall, used.ru_maxrss, used.ru_utime + used.ru_stime)
"""


def figures(command: Sequence[str]) -> Figures:
    """Run a command. Raises SystemExit when it fails.

    Installed programs have bytecode, so Python may write it in the first run.
    """
    starter = [sys.executable, "-I", "-S", "-c", STARTER, *command]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(starter, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    code, wall, peak, cpu = done.stdout.split()
    if code != "0":
        sys.exit(f"exit code {code}: {' '.join(command)}")
    return Figures(float(wall), int(peak) / 1024, float(cpu))


def in_turn(runs: int, *actions: Callable[[], T]) -> list[list[T]]:
    """Return each action's results in each of its runs; they run A B A B …, after one warm-up."""
    results: list[list[T]] = [[] for _ in actions]
    for _ in range(runs + 1):
        for action, kept in zip(actions, results, strict=True):
            kept.append(action())
    return [kept[1:] for kept in results]


def costs(commands: Sequence[Measured], runs: int) -> str:
    """Measure the commands, and return a table of CPU seconds and memory.

    A busy machine changes these less than elapsed time.
    """
    from tabulate import tabulate

    _alternate(commands, runs)
    base = commands[-1]
    rows = [
        (
            command.name,
            f"{median(run.cpu for run in command.runs):.2f}",
            f"{min(run.cpu for run in command.runs):.2f}-{max(r.cpu for r in command.runs):.2f}",
            f"{median(run.peak for run in command.runs):.0f}",
            f"{_ratio(command, base, lambda run: run.cpu):.2f}",
            f"{_ratio(command, base, lambda run: run.peak):.2f}",
        )
        for command in commands
    ]
    headers = ("command", "cpu s", "range", "peak MiB", "cpu / last", "peak / last")
    return tabulate(rows, headers=headers, tablefmt="github", disable_numparse=True)


def _ratio(one: Measured, other: Measured, number: Callable[[Figures], float]) -> float:
    return median(number(a) / number(b) for a, b in zip(one.runs, other.runs, strict=True))


def _alternate(commands: Sequence[Measured], runs: int) -> None:
    for number in range(runs + 1):
        for command in commands:
            command.run()
            if number == 0:
                command.runs.clear()


def compare(commands: Sequence[Measured], runs: int) -> str:
    """Run all in turn `runs` times after one warm-up; a table with ratios to the last command."""
    from tabulate import tabulate

    _alternate(commands, runs)
    base = commands[-1]
    headers = ("command", "wall s", "range", "cpu s", "peak MiB", f"wall / {base.name}", "cpu / it")
    rows = [(c.name, *_row(c.runs, base.runs)) for c in commands]
    return tabulate(rows, headers=headers, disable_numparse=True)


def _row(runs: Sequence[Figures], base: Sequence[Figures]) -> tuple[str, ...]:
    wall = [run.wall for run in runs]
    ratio = median(run.wall / other.wall for run, other in zip(runs, base, strict=True))
    used = median(run.cpu / other.cpu for run, other in zip(runs, base, strict=True))
    return (
        f"{median(wall):.3f}",
        f"{min(wall):.3f}-{max(wall):.3f}",
        f"{median(run.cpu for run in runs):.3f}",
        f"{median(run.peak for run in runs):.0f}",
        f"{ratio:.2f}",
        f"{used:.2f}",
    )
