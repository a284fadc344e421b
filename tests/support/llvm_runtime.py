# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LLVM 19's own runtime: its location, and the output of programs on it."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from clangs import CLANG
from machine import lacks
from places import TESTS

MESSAGES = TESTS / "programs" / "messages"


def llvm_libraries() -> Path:
    """Return the folder of clang 19's own runtime."""
    found = subprocess.run(
        [CLANG[".c"], "-print-file-name=libomptarget.so.19.1"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    if not Path(found).is_absolute():
        lacks("LLVM 19's libomptarget is not here: `make packages` installs it")
    return Path(found).resolve().parent


def lines(output: str) -> list[str]:
    """Return lines without parts that vary; LLVM has four host devices, this runtime one."""
    output = re.sub(r"0x[0-9a-f]{16}", "ADDRESS", output)
    output = re.sub(r"only \d devices", "only N devices", output)
    output = re.sub(r"__omp_offloading_[0-9a-f]+_[0-9a-f]+", "KERNEL", output)
    return [line for line in output.splitlines() if not re.search(r"device [123] info", line)]


def said(
    program: Path, libraries: list[Path], **environment: str
) -> tuple[int, list[str], list[str]]:
    done = subprocess.run(
        [str(program)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=os.environ
        | {"LD_LIBRARY_PATH": ":".join(map(str, libraries)), "OMP_TARGET_OFFLOAD": "MANDATORY"}
        | environment,
    )
    return done.returncode, lines(done.stderr), lines(done.stdout)
