"""Native code of others is asked in a process of its own: it may crash, hang, end it or print."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

import click

SECONDS = 60  # that a driver has to find its devices


class NoAnswerError(Exception):
    """The process did not answer; the message is what became of it."""


def ask(module: str, *words: str, environment: Mapping[str, str]) -> Any:
    """What `python -m MODULE WORDS...` answers; what is printed there goes to stderr here.

    Raises NoAnswerError when there is no answer.
    """
    try:
        done = subprocess.run(
            [sys.executable, "-m", module, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="backslashreplace",
            check=False,
            env=environment,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        raise NoAnswerError(f"took more than {SECONDS} s") from error
    click.echo(done.stderr, err=True, nl=False)
    if done.returncode:
        raise NoAnswerError(f"ended with {_ending(done.returncode)}")
    if not done.stdout:  # somebody's code has called exit
        raise NoAnswerError("ended without an answer")
    return json.loads(done.stdout)


def _ending(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def answer(find: Callable[[], object]) -> None:
    """In that process: print what is found; what native code prints meanwhile goes to stderr."""
    with os.fdopen(os.dup(1), "w") as out:
        os.dup2(2, 1)
        out.write(json.dumps(find()))
