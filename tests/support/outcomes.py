# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ends of programs that every clang compiles: refused, or run on the device.

In a run of the tests each is built once in each way, when the first of them asks, and run once on
each way to the device.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import warnings
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from builds import Build, built
from clangs import INSTALLED, WARNINGS, run
from products import Products

# Let a league have all teams of its program, however few cores there are.
ENVIRONMENT = {"KMP_TEAMS_THREAD_LIMIT": "64"}

# libomp 16 occasionally ends or hangs a program in which a thread waits for dependences of tasks
# (llvm-project issue 85963, fixed in 19; docs/runtime.md has the rate, on LLVM's runtime, too).
# Only such programs are started twice.
RACING = "16"
ADDRESS = re.compile("0x[0-9a-f]+")
WAITS = re.compile(r"\bdepend\s*\(")
ASSERTION = "Assertion failure at kmp_taskdeps.h(26)"
ATTEMPTS = 3


@dataclass(frozen=True)
class Outcome:
    """The end of one program. `refusal` is clang's first error, without the place.

    Its stderr has no addresses.
    """

    refusal: str | None = None
    returncode: int = 0
    stdout: str = ""
    stderr: str = ""

    @property
    def ran(self) -> bool:
        """Return whether the program checked its results and printed nothing else."""
        return self == Outcome(stdout="ok\n")

    def __str__(self) -> str:
        if self.ran:
            return "runs"
        if self.refusal is not None:
            return f"refused: {self.refusal}"
        said = (self.stdout or self.stderr).partition("\n")[0]
        how = f"signal {-self.returncode}: " if self.returncode < 0 else ""
        return how + said


class Programs:
    """The outcomes of programs in an environment, each found out once for all workers."""

    def __init__(self, products: Products, environment: Mapping[str, str]) -> None:
        self._products = products
        self._environment = environment
        self._pool = ThreadPoolExecutor(os.cpu_count())
        self._outcomes: dict[tuple[Build, Path], Future[Outcome]] = {}

    def __enter__(self) -> Programs:
        return self

    def __exit__(self, *_error: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def start(self, wanted: Iterable[tuple[Build, Path]]) -> None:
        """Build and run these when a core is free."""
        for build, source in wanted:
            if (build, source) not in self._outcomes:
                future = self._pool.submit(self._found_out, build, source)
                self._outcomes[build, source] = future

    def outcome(self, build: Build, source: Path) -> Outcome:
        """Return how the program of `source` ends that is built so."""
        self.start([(build, source)])
        return self._outcomes[build, source].result()

    def path(self, build: Build, source: Path) -> Path:
        """Return where the program is, if it was not refused."""
        return self._built(build, source)[0]

    def _found_out(self, build: Build, source: Path) -> Outcome:
        def run_it(_folder: Path) -> Outcome:
            program, refusal = self._built(build, source)
            if refusal is not None:
                return Outcome(refusal=refusal)
            return ended(program, attempts(build.version, source), **self._environment)

        way = "-".join(self._environment.values())
        return self._products.made(f"outcome-{source.stem}-{build}-{way}", run_it)

    def _built(self, build: Build, source: Path) -> tuple[Path, str | None]:
        def build_it(folder: Path) -> tuple[Path, str | None]:
            program = folder / source.stem
            return program, _refusal(build, source, program)

        return self._products.made(f"{source.stem}-{build}", build_it)


def _refusal(build: Build, source: Path, program: Path) -> str | None:
    """Build the program; return clang's error, if any."""
    try:
        built(build, program, source, *(WARNINGS if build.version == INSTALLED else ()))
    except AssertionError as refused:
        error = re.search(r"error: (.*)", str(refused))
        return error[1] if error else str(refused)
    return None


def attempts(version: str, source: Path) -> int:
    """Return how often the program of `source` may be started."""
    return ATTEMPTS if version == RACING and WAITS.search(source.read_text()) else 1


def ended(program: Path, starts: int, **environment: str) -> Outcome:
    """Return how a program ends, or, where libomp's race ended it, another attempt."""
    try:
        done = run(program, **ENVIRONMENT, **environment)
    except subprocess.TimeoutExpired:
        if starts == 1:
            raise
        race = "it hung"
    else:
        stderr = ADDRESS.sub("0x…", done.stderr)
        outcome = Outcome(None, done.returncode, done.stdout, stderr)
        if starts == 1 or not _is_race(outcome):
            return outcome
        race = str(outcome)
    warnings.warn(f"{program.name} is started again, libomp {RACING} raced: {race}", stacklevel=1)
    return ended(program, starts - 1, **environment)


def _is_race(outcome: Outcome) -> bool:
    return outcome.returncode == -signal.SIGSEGV or ASSERTION in outcome.stderr
