# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Assemble PTX by NVIDIA's ptxas, if the machine has it."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from packager.errors import MissingToolError, UsageError
from packager.processes.programs import tool_environment, which

_SECONDS = 600


def assemble(ptx: Path, output: Path, cpu: str, words: Sequence[str] = ()) -> tuple[str, ...]:
    """Assemble `ptx` to the cubin `output`, with `words` for ptxas; return its messages.

    Raises MissingToolError without ptxas, UsageError if it rejects the PTX or the words.
    """
    tool = which("ptxas")
    if not tool:
        raise MissingToolError("a cubin needs NVIDIA's assembler: ptxas is not on PATH")
    command = [tool, f"-arch={cpu}", *words, str(ptx), "-o", str(output)]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            encoding="utf-8",
            errors="backslashreplace",
            env=tool_environment(),
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise UsageError(f"ptxas took more than {_SECONDS} s to assemble the image") from error
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["no reason given"]
        raise UsageError(f"ptxas cannot assemble the image: {lines[0]}")
    return tuple(line for line in (done.stdout + done.stderr).splitlines() if line.strip())
