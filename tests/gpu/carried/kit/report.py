# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write a report: a line for each test, a row for each figure, a summary, and files of all."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from kit.machine import Machine, described

VERDICTS = ("passed", "failed", "skipped")


class Report:
    """The findings so far. The files have them after each part, so that a cut loses little."""

    def __init__(self, folder: Path, machine: Machine, only: str) -> None:
        self.only = only
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._lines: list[str] = []
        self._part = ""
        self._started = time.monotonic()
        self._record: dict[str, Any] = {"machine": described(machine), "tests": [], "figures": []}
        fake = ", A FAKE DRIVER: no kernel runs, programs only get to their launches"
        gpu = f"{machine.name} (sm_{machine.capability}, driver of CUDA {machine.cuda})"
        what = gpu if machine.has_gpu else f"a machine without an NVIDIA GPU: {machine.why_not}"
        self._say(
            f"omptool {machine.manifest['version']} on {what}{fake if machine.is_fake else ''}"
        )

    def wants(self, name: str) -> bool:
        """Return whether the user asked for this test."""
        return self.only in name

    def begin(self, part: str) -> None:
        """Begin this part of the report."""
        self._part = part
        self._say(f"\n== {part}")

    def test(self, name: str, fault: str, detail: str = "") -> None:
        """Record a test, which failed if `fault` names a reason."""
        self._verdict("failed" if fault else "passed", name, fault or detail)

    def skipped(self, name: str, why: str) -> None:
        """Record a test that cannot run on this machine."""
        self._verdict("skipped", name, why)

    def figure(self, name: str, values: dict[str, float | None], ratio: float, goal: str) -> None:
        """Record a measured figure with the peers of the same run and the goal."""
        reached = _is_reached(ratio, goal)
        kept = {"name": name, **values, "ratio": ratio, "goal": goal, "reached": reached}
        self._record["figures"].append(kept)
        shown = "  ".join(
            f"{who} {'-' if value is None else format(value, '.4g')}"
            for who, value in values.items()
        )
        verdict = {True: "reached", False: "MISSED", None: ""}[reached]
        self._say(
            f"figure   {name}: {shown}  ratio {ratio:.3f}  (goal: {goal or 'none'}) {verdict}"
        )
        self._save()

    def finish(self) -> int:
        """Print the summary; return 1 if a test failed."""
        tests = self._record["tests"]
        counts = {verdict: sum(t["verdict"] == verdict for t in tests) for verdict in VERDICTS}
        missed = [f["name"] for f in self._record["figures"] if f["reached"] is False]
        self._say("\n== summary")
        for one in tests:
            if one["verdict"] == "failed":
                self._say(f"failed   {one['part']}: {one['name']}")
        for name in missed:
            self._say(f"missed   figure: {name}")
        self._say(
            ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
            + f", {len(self._record['figures'])} figures of which {len(missed)} missed, "
            f"{time.monotonic() - self._started:.0f} s; {self._folder}/results.json and .txt"
        )
        self._record["summary"] = counts
        self._save()
        return 1 if counts["failed"] else 0

    def _verdict(self, verdict: str, name: str, detail: str) -> None:
        one = {"part": self._part, "name": name, "verdict": verdict, "detail": detail}
        self._record["tests"].append(one)
        self._say(f"{verdict:8} {name}{': ' + detail if detail else ''}")
        self._save()

    def _say(self, line: str) -> None:
        print(line, flush=True)
        self._lines.append(line)

    def _save(self) -> None:
        (self._folder / "results.txt").write_text("\n".join(self._lines) + "\n")
        (self._folder / "results.json").write_text(json.dumps(self._record, indent=1) + "\n")


def _is_reached(ratio: float, goal: str) -> bool | None:
    """Return whether a goal "at most N" or "at least N" is reached; None without a goal."""
    if not goal:
        return None
    bound = float(goal.split()[2])
    return ratio <= bound if goal.startswith("at most") else ratio >= bound
