"""Times whole commands in turn (A B A B ...), so that a machine whose speed drifts treats all alike."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median


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
        start = time.perf_counter()
        with subprocess.Popen(self.command, stdout=subprocess.DEVNULL) as process:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"{self.name} failed with {process.returncode}: {' '.join(self.command)}")
        self.wall.append(time.perf_counter() - start)
        self.peak.append(usage.ru_maxrss / 1024)


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
    headers = ("command", "wall s", "range", "peak MiB", f"wall, × {base.name}")
    return tabulate(rows, headers=headers, disable_numparse=True)
