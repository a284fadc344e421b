# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool dump --disassemble`: a kernel's code, by this machine's tools."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from omptool.console import echo, shown
from omptool.errors import reported
from packager.questions.wanted import Wanted
from packager.writers.disassembly import disassemble


def show(files: Sequence[Path], wanted: Wanted, kernel: str) -> None:
    """Show the code of `kernel` in each image that has it."""
    for path in files:
        with reported(path):
            for one in disassemble(path, wanted, kernel):
                tool = f", by {one.tool}" if one.tool else ""
                echo(f"{shown(path)}: image {one.number} ({one.image.target}){tool}:\n{one.text}\n")
