"""What becomes of programs that every clang compiles: refused, or run on the device.

In a run of the tests each is compiled once, when the first of them asks, and run once on each way
to the device.
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

from clangs import INSTALLED, WARNINGS, compiler, run, steps
from products import Products

# A league has as many teams as its program says, however few cores there are.
ENVIRONMENT = {"KMP_TEAMS_THREAD_LIMIT": "64"}

# libomp 16 now and then ends a program in which a thread waits for dependences of tasks, or hangs
# (llvm-project issue 85963, mended in 19; docs/runtime.md says how often, on LLVM's too).
# No other program is started twice.
RACING = "16"
WAITS = re.compile(r"\bdepend\s*\(")
ASSERTION = "Assertion failure at kmp_taskdeps.h(26)"
ATTEMPTS = 3


@dataclass(frozen=True)
class Outcome:
    """How one program ended. `refusal` is clang's first error, without the place."""

    refusal: str | None = None
    returncode: int = 0
    stdout: str = ""
    stderr: str = ""

    @property
    def ran(self) -> bool:
        """It checked its results, they held, and nobody had anything to say about it."""
        return self == Outcome(stdout="ok\n")

    def __str__(self) -> str:
        if self.ran:
            return "runs"
        if self.refusal is not None:
            return f"refused: {self.refusal}"
        said = (self.stdout or self.stderr).partition("\n")[0]
        how = f"signal {-self.returncode}: " if self.returncode < 0 else ""
        return how + re.sub("0x[0-9a-f]+", "0x…", said)


class Programs:
    """The outcomes of programs in an environment, each found out once for all workers."""

    def __init__(self, products: Products, environment: Mapping[str, str]) -> None:
        self._products = products
        self._environment = environment
        self._pool = ThreadPoolExecutor(os.cpu_count())
        self._outcomes: dict[tuple[str, Path], Future[Outcome]] = {}

    def __enter__(self) -> Programs:
        return self

    def __exit__(self, *_error: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def start(self, wanted: Iterable[tuple[str, Path]]) -> None:
        """Compile and run these, each a clang's version and a source, when a core is free."""
        for version, source in wanted:
            if (version, source) not in self._outcomes:
                future = self._pool.submit(self._found_out, version, source)
                self._outcomes[version, source] = future

    def outcome(self, version: str, source: Path) -> Outcome:
        """How the program of `source` by that clang ends."""
        self.start([(version, source)])
        return self._outcomes[version, source].result()

    def path(self, version: str, source: Path) -> Path:
        """Where the program is, if it was not refused."""
        return self._compiled(version, source)[0]

    def _found_out(self, version: str, source: Path) -> Outcome:
        def run_it(_folder: Path) -> Outcome:
            program, refusal = self._compiled(version, source)
            if refusal is not None:
                return Outcome(refusal=refusal)
            return ended(program, attempts(version, source), **self._environment)

        way = "-".join(self._environment.values())
        return self._products.made(f"outcome-{source.stem}-{version}-{way}", run_it)

    def _compiled(self, version: str, source: Path) -> tuple[Path, str | None]:
        def compile_it(folder: Path) -> tuple[Path, str | None]:
            program = folder / source.stem
            return program, _refusal(version, source, program)

        return self._products.made(f"{source.stem}-{version}", compile_it)


def _refusal(version: str, source: Path, program: Path) -> str | None:
    """Compiles the program; what clang says if it does not like it."""
    warnings = WARNINGS if version == INSTALLED else ()
    for step in steps(program, [*compiler(version, source), *warnings, str(source)]):
        done = subprocess.run(step, capture_output=True, text=True, check=False, timeout=120)
        if done.returncode:
            error = re.search(r"error: (.*)", done.stderr)
            return error[1] if error else done.stderr
    return None


def attempts(version: str, source: Path) -> int:
    """How often the program of `source` may be started."""
    return ATTEMPTS if version == RACING and WAITS.search(source.read_text()) else 1


def ended(program: Path, starts: int, **environment: str) -> Outcome:
    """How a program ends, or, where libomp's race ended it, another attempt."""
    try:
        done = run(program, **ENVIRONMENT, **environment)
    except subprocess.TimeoutExpired:
        if starts == 1:
            raise
        race = "it hung"
    else:
        outcome = Outcome(None, done.returncode, done.stdout, done.stderr)
        if starts == 1 or not _is_race(outcome):
            return outcome
        race = str(outcome)
    warnings.warn(f"{program.name} is started again, libomp {RACING} raced: {race}", stacklevel=1)
    return ended(program, starts - 1, **environment)


def _is_race(outcome: Outcome) -> bool:
    return outcome.returncode == -signal.SIGSEGV or ASSERTION in outcome.stderr
