# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every finding that `doctor` can have is explained, by `doctor` as by `verify`."""

from __future__ import annotations

import re

import pytest
from places import ROOT
from toolchain import omptool

from packager.machine.explained import DOCTORS


def test_every_code_is_explained() -> None:
    sources = [*ROOT.glob("packager/machine/*.py"), ROOT / "omptool" / "commands" / "doctor.py"]
    used = {code for source in sources for code in re.findall(r'"(OMP2\d\d)"', source.read_text())}
    assert used == set(DOCTORS)
    page = (ROOT / "man" / "omptool-doctor.1").read_text()
    assert sorted(re.findall(r"^\.B (OMP2\d\d)$", page, re.MULTILINE)) == sorted(DOCTORS)


@pytest.mark.parametrize("command", ["doctor", "verify"])
def test_cause_and_cure(command: str) -> None:
    for code, text in DOCTORS.items():
        done = omptool(command, "--explain", code.lower())
        assert (done.exit_code, done.stdout) == (0, f"{code}: {text}\n")
        title, _, rest = text.partition("\n\n")
        assert "\n" not in title
        assert "Cure: " in rest


@pytest.mark.parametrize("command", ["doctor", "verify"])
def test_no_code(command: str) -> None:
    done = omptool(command, "--explain", "OMP999")
    assert done.exit_code == 2
    assert done.stderr.startswith(
        f"Error: {command}: no finding has the code 'OMP999'; known codes: "
    )
