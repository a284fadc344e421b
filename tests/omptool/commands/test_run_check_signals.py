# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool run --check`: signals reach the program as without it."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from checked import SAW_NOTHING
from fixture_programs import OMPTOOL


def heed_keys() -> None:
    """Reset signals that nohup and shells' background jobs ignore."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


class Started:
    """A checked program that runs until a signal comes."""

    def __init__(self, script: str, *, own_group: bool = False, **how: Any) -> None:
        def prepare() -> None:
            heed_keys()
            if own_group:
                os.setpgrp()

        command = [str(OMPTOOL), "run", "--check", "/bin/sh", "-c", script]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=prepare,
            **how,
        )
        assert self.process.stdout
        self.child = int(self.process.stdout.readline())

    def states(self) -> str:
        """Return the states of omptool and the program, as ps shows them."""
        numbers = (self.process.pid, self.child)
        return "".join(Path(f"/proc/{n}/stat").read_text().rpartition(") ")[2][0] for n in numbers)

    def reaches(self, states: str) -> bool:
        """Wait for states, for some seconds."""
        for _ in range(500):
            if self.states() == states:
                return True
            time.sleep(0.02)
        return False

    def ended(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err


WAITS = "echo $$; exec sleep 100"
CATCHES = "trap 'echo caught; exit 9' {}; echo $$; while :; do sleep 0.05; done"


@pytest.mark.parametrize("name", ["INT", "TERM", "HUP", "QUIT", "USR1"])
def test_a_signal_for_omptool_goes_to_the_program(name: str) -> None:
    number = signal.Signals[f"SIG{name}"]
    started = Started(WAITS)
    started.process.send_signal(number)
    assert started.ended() == (-number, "", SAW_NOTHING)
    started = Started(CATCHES.format(name))
    started.process.send_signal(number)
    assert started.ended() == (9, "caught\n", SAW_NOTHING)


def test_an_interrupt_of_the_whole_group() -> None:
    started = Started(WAITS, start_new_session=True)
    os.killpg(started.process.pid, signal.SIGINT)
    assert started.ended() == (-signal.SIGINT, "", SAW_NOTHING)


def test_a_key_of_the_terminal_reaches_the_program_once() -> None:
    child, terminal = pty.fork()
    if not child:
        heed_keys()
        words = ["run", "--check", "/bin/sh", "-c", CATCHES.format("INT")]
        os.execv(OMPTOOL, [str(OMPTOOL), *words])
    printed = os.read(terminal, 1000)  # the program's number
    os.write(terminal, b"\x03")
    with suppress(OSError):  # the other end is closed
        while more := os.read(terminal, 1000):
            printed += more
    _, status = os.waitpid(child, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 9
    assert printed.count(b"caught") == 1
    assert printed.endswith(SAW_NOTHING.replace("\n", "\r\n").encode())


def test_omptool_stops_and_goes_on_with_the_program() -> None:
    started = Started(CATCHES.format("TERM"), own_group=True)
    started.process.send_signal(signal.SIGTSTP)
    assert started.reaches("TT")
    started.process.send_signal(signal.SIGCONT)
    assert started.reaches("SS")
    started.process.send_signal(signal.SIGTERM)
    assert started.ended() == (9, "caught\n", SAW_NOTHING)
