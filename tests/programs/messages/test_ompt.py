# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A performance tool hears of target constructs what it hears from LLVM 19's runtime."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
import queues
from clangs import CLANG, FLAGS, WARNINGS, made
from llvm_runtime import MESSAGES, llvm_libraries, said

from omptool.installation import libdir

pytestmark = pytest.mark.offloads


def heard(program: Path, libraries: list[Path], host: int) -> list[str]:
    """Return what the tool prints; LLVM has four host devices, this runtime one."""
    code, stderr, stdout = said(program, libraries)
    assert (code, stderr) == (0, [])
    return [
        re.sub(f"@{host}\\b", "@host", line)
        for line in stdout
        if "device 0" in line or "device" not in line
    ]


@pytest.mark.parametrize("flags", [["-DEMI"], []], ids=["emi", "plain"])
def test_a_tool_hears_what_llvm_tells(
    tmp_path: Path, flags: list[str], way: Mapping[str, str]
) -> None:
    """Over the queue an operation may begin before the one that it comes after has ended."""
    sources = (MESSAGES / "tool.c", MESSAGES / "traced.c")
    made(tmp_path / "traced", CLANG[".c"], *FLAGS, *WARNINGS, *flags, *sources)
    llvm = llvm_libraries()
    ours = heard(tmp_path / "traced", [libdir(), llvm], 1)
    theirs = heard(tmp_path / "traced", [llvm], 4)
    order = sorted if way == queues.QUEUED else list
    assert order(ours) == order(theirs)
    assert ours[-1] == "the tool ends"


def test_a_program_may_begin_with_a_routine(tmp_path: Path) -> None:
    """The tool starts with it, and hears where the program calls it."""
    sources = (MESSAGES / "tool.c", MESSAGES / "first_routine.c")
    made(tmp_path / "main", CLANG[".c"], *FLAGS, "-DEMI", *sources)
    lines = heard(tmp_path / "main", [libdir(), llvm_libraries()], 1)
    operations = [line for line in lines if ", operation " in line]
    assert len(operations) == 4  # the memory is allocated and freed
    assert all(line.endswith("8 bytes, caller given") for line in operations[:2])


def test_counting_devices_starts_the_tool(tmp_path: Path) -> None:
    """The program asks for nothing else."""
    sources = (MESSAGES / "tool.c", MESSAGES / "counts_devices.c")
    made(tmp_path / "main", CLANG[".c"], *FLAGS, "-DEMI", *sources)
    assert heard(tmp_path / "main", [libdir(), llvm_libraries()], 1) == ["the tool ends"]


def test_a_region_without_waiting_has_a_kind_of_its_own(tmp_path: Path) -> None:
    """LLVM's runtime gives it the kind of any other."""
    source = MESSAGES / "not_waiting.c"
    made(tmp_path / "main", CLANG[".c"], *FLAGS, MESSAGES / "tool.c", source)
    lines = heard(tmp_path / "main", [libdir(), llvm_libraries()], 1)
    assert "target: kind 9, endpoint 1, device 0, task given, caller given" in lines
