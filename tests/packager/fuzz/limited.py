# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every command that reads, on the files named, in a process that cannot hold more than 1 GiB.

Usage: python tests/packager/fuzz/limited.py WORK FILE...   (says which file and command went wrong)
"""

from __future__ import annotations

import resource
import signal
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import NoReturn

from target import COMMANDS, MEMORY, SECONDS, FaultError, invoked


def commands(work: Path, other: Path) -> Iterator[tuple[str, ...]]:
    """Yield the commands to call on a file; `other` is the file to compare it with."""
    yield from COMMANDS
    yield "extract", "--all", "-o", str(work / "out")
    yield "extract", "--kernels", "--json"
    yield "doctor", "--json"
    yield ("doctor",)
    yield "dump", "--against", str(other)
    yield "dump", "--summary"
    yield "verify", "--json", str(other)


def too_slow(_number: int, _frame: FrameType | None) -> NoReturn:
    raise FaultError(f"took more than {SECONDS} s")


def main() -> None:
    """Run the commands on all files, each beside the previous one."""
    work, *paths = map(Path, sys.argv[1:])
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGPROF, too_slow)
    for other, path in pairwise([paths[-1], *paths]):
        for command in commands(work, other):
            sys.stderr.write(f"{path.name}: {' '.join(command)}\n")
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            invoked(*command, str(path))
            signal.setitimer(signal.ITIMER_PROF, 0)


if __name__ == "__main__":
    main()
