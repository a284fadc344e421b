# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ctrl-C at any moment ends a command by SIGINT, without a word.

Moments are measured in the processor time that the command has used: whatever else the machine
does, they are the same. They begin with omptool's first line. Until then the interpreter starts,
and has a handler of its own for a while, which prints a traceback.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fixture_programs import OMPTOOL
from places import DATA

FILE = str(DATA / "none.fatbin")
POLL = 0.0002  # seconds
INTERRUPT = 1 << (signal.SIGINT - 1)
STEP = 0.005
TRIES = 3  # on a busy machine the interpreter's handler may come and go between two looks


class Interrupted:
    """A command that gets a SIGINT with its process group, as from a terminal."""

    def __init__(self, words: list[str], moment: float) -> None:
        self.process = subprocess.Popen(
            [OMPTOOL, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        self.is_sent = self._begins() and self._has_used(self._used() + moment)
        if self.is_sent:
            os.killpg(self.process.pid, signal.SIGINT)
        self.out, self.err = self.process.communicate(timeout=60)

    def _begins(self) -> bool:
        """Wait until Python's own handler is there, and is gone."""
        return self._until(self._has_handler) and self._until(lambda: not self._has_handler())

    def _has_used(self, seconds: float) -> bool:
        return self._until(lambda: self._used() >= seconds)

    def _until(self, is_so: Callable[[], bool]) -> bool:
        while self.process.poll() is None:
            if is_so():
                return True
            time.sleep(POLL)
        return False

    def _has_handler(self) -> bool:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        caught = re.search(r"^SigCgt:\s*(\w+)", status, re.MULTILINE)
        return bool(caught and int(caught[1], 16) & INTERRUPT)

    def _used(self) -> float:
        return int(Path(f"/proc/{self.process.pid}/schedstat").read_text().split()[0]) / 1e9


def interrupted(words: list[str], step: float, end: float) -> Iterator[Interrupted]:
    """Interrupt the command at successive moments, until it ends first; yield each run."""
    for number in range(int(end / step) + 1):
        for _ in range(TRIES):
            one = Interrupted(words, number * step)
            if one.is_sent:
                yield one
                break


def expect_silence(words: list[str], step: float, least: int) -> None:
    """Check that every interrupted run ends by SIGINT, or normally if the interrupt came late."""
    before = os.times()
    whole = subprocess.run([OMPTOOL, *words], capture_output=True, check=False)
    after = os.times()
    end = sum(after[2:4]) - sum(before[2:4])
    tries = list(interrupted(words, step, end))
    assert len(tries) >= least
    for number, one in enumerate(tries):
        assert one.err in (b"", whole.stderr), f"after {number * step:.3f} s"
        if one.process.returncode != -signal.SIGINT:
            assert (one.process.returncode, one.out) == (whole.returncode, whole.stdout)
    assert sum(one.process.returncode == -signal.SIGINT for one in tries) >= least - 2


def test_an_interrupt_in_the_first_import_is_silent(tmp_path: Path) -> None:
    """A script that an installer generates loads `re` before anything of omptool's."""
    (tmp_path / "re.py").write_text("import os\nos.kill(os.getpid(), 2)\n")
    done = subprocess.run(
        [OMPTOOL, "--version"],
        capture_output=True,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, b"", b"")


@pytest.mark.slow
@pytest.mark.parametrize("words", [["--version"], ["dump", FILE], ["verify", FILE]], ids=" ".join)
def test_an_interrupt_at_any_moment_is_silent(words: list[str]) -> None:
    expect_silence(words, 3 * STEP, 2)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["dump", "--kernels", FILE],
        ["dump", "--json", FILE],
        ["dump", "--summary", FILE],
        ["verify", "--sarif", FILE],
        ["verify", "--explain", "OMP105"],
        ["extract", "--kernels", FILE],
        ["dump", "--triple", "nvtpx64", FILE],
        ["frobnicate"],
    ],
    ids=lambda words: " ".join(words).replace(FILE, "FILE"),
)
def test_an_interrupt_every_five_milliseconds_is_silent(words: list[str]) -> None:
    expect_silence(words, STEP, 3)


@pytest.mark.exhaustive
@pytest.mark.offloads
@pytest.mark.parametrize("words", [["devices"], ["doctor", FILE]], ids=["devices", "doctor"])
def test_an_interrupt_while_others_are_asked_is_silent(words: list[str]) -> None:
    expect_silence(words, STEP, 3)
