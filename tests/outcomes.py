"""What becomes of programs that every clang compiles: refused, or run on the device.

They are compiled and run ahead of the tests that ask, on all cores.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from clangs import INSTALLED, WARNINGS, compiler, run

# A league has as many teams as its program says, however few cores there are.
ENVIRONMENT = {"KMP_TEAMS_THREAD_LIMIT": "64"}
# Twice as fast as with the default, ld, which loads LLVM to see whether there is bitcode.
LINKER = "--ld-path=/usr/lib/llvm-19/bin/ld.lld"


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
    """The outcomes of programs, each found out once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
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
                future = self._pool.submit(_outcome, version, source, self._folder / version)
                self._outcomes[version, source] = future

    def outcome(self, version: str, source: Path) -> Outcome:
        """How the program of `source` by that clang ends."""
        self.start([(version, source)])
        return self._outcomes[version, source].result()

    def path(self, version: str, source: Path) -> Path:
        """Where the program is, once its outcome is known and it was not refused."""
        return self._folder / version / source.stem


def _outcome(version: str, source: Path, folder: Path) -> Outcome:
    folder.mkdir(exist_ok=True)
    program = folder / source.stem
    warnings = WARNINGS if version == INSTALLED else ()
    command = [*compiler(version, source), *warnings, LINKER, str(source), "-o", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    if done.returncode:
        error = re.search(r"error: (.*)", done.stderr)
        return Outcome(refusal=error[1] if error else done.stderr)
    ended = run(program, **ENVIRONMENT)
    return Outcome(None, ended.returncode, ended.stdout, ended.stderr)
