"""Times whole commands in turn (A B A B ...), so that a machine's drift treats all alike."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import TypeVar

T = TypeVar("T")


@dataclass
class Measured:
    """A command and the figures of its runs: seconds, and peak memory in MiB."""

    name: str
    command: Sequence[str]
    prepare: Callable[[], None] = lambda: None
    wall: list[float] = field(default_factory=list)
    peak: list[float] = field(default_factory=list)

    def run(self) -> None:
        """One run, counted. Raises SystemExit when the command fails."""
        self.prepare()
        wall, peak = figures(self.command)
        self.wall.append(wall)
        self.peak.append(peak)


# A process starts with its parent's peak memory on its account, so a small one starts the command.
STARTER = """
import resource, subprocess, sys, time
start = time.perf_counter()
code = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)
wall = time.perf_counter() - start
print(code, wall, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def figures(command: Sequence[str]) -> tuple[float, float]:
    """Run a command: its seconds, and its peak memory in MiB (of some 10 upwards).

    Raises SystemExit when it fails.
    """
    starter = [sys.executable, "-I", "-S", "-c", STARTER, *command]
    done = subprocess.run(starter, stdout=subprocess.PIPE, text=True, check=True)
    code, wall, peak = done.stdout.split()
    if code != "0":
        sys.exit(f"exit code {code}: {' '.join(command)}")
    return float(wall), int(peak) / 1024


def in_turn(runs: int, *actions: Callable[[], T]) -> list[list[T]]:
    """What each action returned in each of its runs; they run A B A B …, after one warm-up."""
    results: list[list[T]] = [[] for _ in actions]
    for _ in range(runs + 1):
        for action, kept in zip(actions, results, strict=True):
            kept.append(action())
    return [kept[1:] for kept in results]


def compare(commands: Sequence[Measured], runs: int) -> str:
    """Run all in turn `runs` times after one warm-up; a table with ratios to the last command."""
    from tabulate import tabulate

    for number in range(runs + 1):
        for command in commands:
            command.run()
            if number == 0:
                command.wall.clear()
                command.peak.clear()
    base = commands[-1]
    rows = [
        (
            c.name,
            f"{median(c.wall):.3f}",
            f"{min(c.wall):.3f}-{max(c.wall):.3f}",
            f"{median(c.peak):.0f}",
            f"{median(a / b for a, b in zip(c.wall, base.wall, strict=True)):.2f}",
        )
        for c in commands
    ]
    headers = ("command", "wall s", "range", "peak MiB", f"wall / {base.name}")
    return tabulate(rows, headers=headers, disable_numparse=True)
