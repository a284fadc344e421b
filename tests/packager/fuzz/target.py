# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The target of fuzzing: every reading command on a file, in this process, and its limits."""

from __future__ import annotations

import resource
import time
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

from omptool.cli import cli

SECONDS = 5.0  # processor time, because other tests run at once
MEMORY = 1 << 30  # bytes
COMMANDS = (
    ("dump", "--kernels", "--images", "--entries", "--descriptors", "--wide"),
    ("dump", "--json", "--hash"),
    ("verify", "--sarif"),
    ("extract", "--kernels"),
)
# click keeps references to all streams that it wrote to, so these are reused.
OUT, ERR = StringIO(), StringIO()


class FaultError(Exception):
    """A command did not end as documented."""


def check(path: Path) -> None:
    """Run every command on a file; raise its exception, or FaultError."""
    # Reset the peak: other tests of this process may have used more memory.
    Path("/proc/self/clear_refs").write_text("5", "ascii")
    before = _peak()
    for command in COMMANDS:
        invoked(*command, str(path))
    taken = _peak() - before
    if taken > MEMORY:
        raise FaultError(f"{path}: {taken >> 20} MiB")


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def invoked(*command: str) -> None:
    """Run one command; raise its exception, or FaultError."""
    start = time.process_time()
    code, errors = _invoke(*command)
    _judge(command[0], code, errors, time.process_time() - start)


def _invoke(*arguments: str) -> tuple[object, str]:
    """Return the exit code and the text on stderr."""
    for stream in (OUT, ERR):
        stream.seek(0)
        stream.truncate()
    with redirect_stdout(OUT), redirect_stderr(ERR):
        try:
            cli.main(list(arguments), "omptool")
        except SystemExit as end:
            return end.code, ERR.getvalue()
    return None, ERR.getvalue()


def _judge(command: str, code: object, errors: str, seconds: float) -> None:
    if seconds > SECONDS:
        raise FaultError(f"{command} took {seconds:.1f} s")
    if code not in (0, 1, 2):
        raise FaultError(f"{command} ended with exit code {code}")
    lines = errors.splitlines()
    if not all(line.startswith("Error: ") and line.isprintable() for line in lines):
        raise FaultError(f"{command} wrote {lines}")
    if code == 2 and not lines:
        raise FaultError(f"{command} ended with exit code 2 without a word")
