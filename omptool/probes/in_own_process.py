# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run foreign native code in a process of its own: it may crash, hang, exit or print."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

import click

from omptool.probes.answering import END
from packager.processes.isolated import python_command

SECONDS = 60  # time for a driver to find its devices


# Variables by which tools observe only the program.
OBSERVERS = (
    "OMPTOOL_SUMMARY",
    "OMPTOOL_SUMMARY_JSON",
    "OMPTOOL_TRACE",
    "OMP_TOOL_LIBRARIES",
    "LIBOMPTARGET_PROFILE",
)


class NoAnswerError(Exception):
    """The process ended without all answers; the message has the reason."""

    def __init__(self, message: str, said: str, lines: Sequence[str]) -> None:
        super().__init__(message)
        self.said = said  # output besides the answers
        self.answers: list[Any] = list(map(json.loads, lines))


def ask(module: str, *words: str, environment: Mapping[str, str]) -> list[Any]:
    """Run MODULE's `main(*words)`, return its answers, and pass its other output to stderr.

    Raises NoAnswerError when it ends before it has answered all.
    """
    try:
        done = subprocess.run(
            [*python_command(module), *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            close_fds=False,  # a launcher of MPI may have left some for this process
            encoding="utf-8",
            errors="backslashreplace",
            check=False,
            env={name: value for name, value in environment.items() if name not in OBSERVERS},
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        found = _text(error.stdout).splitlines()
        raise NoAnswerError(f"took more than {SECONDS} s", _text(error.stderr), found) from error
    lines = done.stdout.splitlines()
    if done.returncode:
        raise NoAnswerError(f"ended with {_ending(done.returncode)}", done.stderr, lines)
    if lines[-1:] != [END]:  # somebody's code has called exit
        raise NoAnswerError("ended without an answer", done.stderr, lines)
    passed_on(done.stderr)
    return list(map(json.loads, lines[:-1]))


def passed_on(said: str) -> None:
    """Print the output of foreign native code."""
    click.echo(said, err=True, nl=False)


def _text(stream: bytes | None) -> str:
    """Return the output before the time limit, up to the last whole line."""
    whole = (stream or b"").rpartition(b"\n")
    return (whole[0] + whole[1]).decode("utf-8", "backslashreplace")


def _ending(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"
