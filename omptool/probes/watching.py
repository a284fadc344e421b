# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Running a program to its end, beside what else is to be printed of it."""

from __future__ import annotations

import errno
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from omptool.probes.launching import is_text

STDERR = 2
PASSED_ON = (signal.SIGTERM, signal.SIGHUP)
KEYS = (signal.SIGINT, signal.SIGQUIT)


def watched(program: Path, words: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run a program to its end and return its exit code, or minus the signal that ended it.

    `words` begin with the name that it was asked for by. Its output goes to stderr. Signals that
    would end this process go to the program. Raises OSError when it cannot be started.
    """
    try:
        child = _started(program, words, environment)
    except OSError as error:
        if error.errno != errno.ENOEXEC or not is_text(program):
            raise  # without "#!", shells run it themselves
        shell = ["sh", str(program), *words[1:]]
        child = _started(Path("/bin/sh"), shell, environment)
    with child, _signals_to(child):
        return child.wait()


def _started(
    program: Path, words: Sequence[str], environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(words, executable=program.absolute(), env=environment, stdout=STDERR)


@contextmanager
def _signals_to(child: subprocess.Popen[bytes]) -> Iterator[None]:
    """Pass signals on in the block; those of the terminal's keys reach the child anyway."""

    def pass_on(number: int, _frame: FrameType | None) -> None:
        child.send_signal(number)

    kept = {number: signal.getsignal(number) for number in (*PASSED_ON, *KEYS)}
    for number in (*PASSED_ON, *KEYS):
        if kept[number] is not signal.SIG_IGN:
            signal.signal(number, pass_on if number in PASSED_ON else lambda *_: None)
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
