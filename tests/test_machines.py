# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The folders of runtime/machine: a machine without one is named, and their labels are global."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from places import ROOT

RUNTIME = ROOT / "runtime"
ASSEMBLY = re.compile(r'__asm__\(R"\((.*?)\)"\)', re.DOTALL)
UNITS = sorted((RUNTIME / "machine").glob("*/*.cpp"))


def labels(unit: Path) -> tuple[set[str], set[str]]:
    """Return the labels of a unit's assembly that have a name, and those that are global."""
    text = "".join(ASSEMBLY.findall(unit.read_text()))
    named = set(re.findall(r"^(?!\d)(\w+):", text, re.MULTILINE))
    return named, set(re.findall(r"^\s+\.globl\s+(\w+)", text, re.MULTILINE))


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: f"{unit.parent.name}-{unit.stem}")
def test_each_label_that_has_a_name_is_global(unit: Path) -> None:
    """Check that named labels are global.

    If C++ takes the address of a local label, gas refers to its section, and a linker drops the
    offset.
    """
    named, exported = labels(unit)
    assert named
    assert named <= exported


def test_a_machine_without_a_folder_is_named(tmp_path: Path) -> None:
    system = ("-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=riscv64")
    words = ["cmake", f"-S{RUNTIME}", f"-B{tmp_path}", *system, "-DCMAKE_CXX_COMPILER_WORKS=ON"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    said = " ".join(done.stderr.split())
    assert "omptool's runtime is for x86_64 and aarch64, not for riscv64: machine/" in said
    machines = [path.name for path in (RUNTIME / "machine").iterdir()]
    assert sorted(machines) == ["aarch64", "x86_64"]
