# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each cause stands once in a report of `doctor`."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest
import toolchain
from machine import lacks
from toolchain import omptool

from omptool.render.notes import ABOVE, Notes

CAUSE = "(no driver: libx.so.1 is not found)"


def test_a_cause_is_a_number_behind_its_first_place() -> None:
    notes = Notes("everything runs on a device", [CAUSE, ""])
    assert notes.mark(f"it has no devices {CAUSE}") == "[1]"
    assert notes.mark(f"plugin x accepts it, but has no device {CAUSE}") == "[2]"
    assert notes.lines() == [
        f"[1] it has no devices {CAUSE}",
        "[2] plugin x accepts it, but has no device [1]",
    ]
    assert notes.shortened(f"plugin x has none {CAUSE}") == "plugin x has none [1]"


def test_a_cause_in_the_first_line_is_not_repeated() -> None:
    reason = f"there is no device: plugin x has none {CAUSE}"
    notes = Notes(f"2 of 2 entries stay on the host: {reason}", [CAUSE])
    assert notes.mark(f"it has no devices {CAUSE}") == "[1]"
    assert notes.mark(reason) == "[2]"
    assert notes.mark(reason) == "[2]"
    assert notes.lines() == [f"[1] it has no devices ({ABOVE})", f"[2] {ABOVE}"]


@pytest.mark.parametrize("others", ["kept", "removed"])
@pytest.mark.parametrize("policy", ["DEFAULT", "MANDATORY"])
def test_a_driver_that_is_not_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: str, policy: str
) -> None:
    monkeypatch.delenv("OMPTOOL_PLUGINS", raising=False)
    try:
        ctypes.CDLL("libcuda.so.1")
        lacks("this machine has CUDA's driver")
    except OSError as error:
        why = str(error)
    toolchain.clang_offload(toolchain.OPENMP, tmp_path / "app")
    (tmp_path / "image.ptx").write_text(toolchain.PTX)
    words = ("--add", f"nvptx64:sm_70={tmp_path / 'image.ptx'}", "--force", "-o")
    path = tmp_path / "both"
    assert omptool("edit", tmp_path / "app", *words, path).exit_code == 0
    if others == "removed":
        path = tmp_path / "one"
        edited = omptool("edit", tmp_path / "both", "--remove", "0", "--force", "-o", path)
        assert edited.exit_code == 0
    said = omptool("doctor", path, environment={"OMP_TARGET_OFFLOAD": policy}).stdout
    assert " ".join(said.split()).count(why) == 1
    assert (why in said.splitlines()[0]) == (others == "removed")
