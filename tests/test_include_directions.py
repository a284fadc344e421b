# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The runtime's include lines run downwards, from room to room."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT

CHECK = ROOT / "scripts" / "include_directions.py"


def check(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the check."""
    command = [sys.executable, CHECK, *arguments]
    return subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False
    )


def test_the_runtime_has_no_include_that_runs_upwards() -> None:
    done = check()
    assert done.stdout == ""
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("file", "target", "fault"),
    [
        pytest.param(
            "libomptarget/data/begin.cpp",
            "libomptarget/devices/registry.h",
            "libomptarget/devices/registry.h is not below it",
            id="upwards",
        ),
        pytest.param(
            "libomptarget/abi/interface/calls.cpp",
            "libomptarget/abi/proposal/calls.h",
            "libomptarget/abi/proposal/calls.h is not below it",
            id="across",
        ),
        pytest.param(
            "plugins/host/device.cpp",
            "libomptarget/process/message.h",
            "libomptarget/process/message.h is not below it",
            id="a plugin and the core",
        ),
        pytest.param(
            "libomptarget/rtl/device_memory.h",
            "observe/check/full/guarded.h",
            "observe/check/full/guarded.h is not below it",
            id="the core and an observer",
        ),
        pytest.param(
            "observe/trace/trace.cpp",
            "libomptarget/rtl/rtl.h",
            "libomptarget/rtl/rtl.h is the core's, which observers do not see",
            id="an observer and the core",
        ),
        pytest.param(
            "libomptarget/new/thing.cpp",
            "include/omptarget.h",
            "its room has no level",
            id="a room without a level",
        ),
    ],
)
def test_an_include_that_does_not_run_downwards_is_named(
    tmp_path: Path, file: str, target: str, fault: str
) -> None:
    for path in (file, target):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / target).write_text("#pragma once\n")
    name = target.removeprefix("libomptarget/").removeprefix("include/")
    (tmp_path / file).write_text(f'#include "{name}"\n')
    done = check(tmp_path)
    assert f"{file}: {fault}" in done.stdout.splitlines()
    assert done.returncode == 1
