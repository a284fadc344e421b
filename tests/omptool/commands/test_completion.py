# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Completion by the shells: commands, options and values."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from omptool.cli import COMMANDS
from packager.checks import CHECKS

LATE = [code for code in CHECKS if code.startswith("OMP13")]
DOCUMENTS = ["--check-sarif", "--check-json"]
AFTER_130 = [f"OMP130,{code}" for code in LATE[1:]]

OMPTOOL = Path(sys.executable).parent / "omptool"
ENVIRONMENT = os.environ | {"PATH": f"{OMPTOOL.parent}:{os.environ['PATH']}"}


def in_bash(*words: str) -> list[str]:
    """Return bash's offers for the last of `words`, after the line that README documents."""
    script = f"""
eval "$(_OMPTOOL_COMPLETE=bash_source omptool)"
COMP_WORDS=({" ".join(f"'{word}'" for word in words)})
COMP_CWORD={len(words) - 1}
_omptool_completion omptool
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    command = ["bash", "--norc", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, check=False)
    assert "not found" not in done.stderr, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["omptool", ""], list(COMMANDS)),
        (["omptool", "de"], ["devices"]),
        (["omptool", "--v"], ["--version"]),
        (["omptool", "lower", "--e"], ["--entry", "--emit"]),
        (["omptool", "lower", "--emit", ""], ["image", "asm", "obj", "bc"]),
        (["omptool", "bundle", "--for"], ["--force"]),
        (["omptool", "verify", "--json", "--st"], ["--strict"]),
        (["omptool", "lower", "--triple", "nv"], ["nvptx64-nvidia-cuda"]),
        (["omptool", "cc", "--triple", "a"], ["aarch64-unknown-linux-gnu", "amdgcn-amd-amdhsa"]),
        (["omptool", "dump", "--triple", "x"], ["x86_64-pc-linux-gnu"]),
        (["omptool", "extract", "--triple", "sp"], ["spirv64-unknown-unknown"]),
        (["omptool", "verify", "--explain", "omp13"], LATE),
        (["omptool", "doctor", "--explain", "OMP21"], ["OMP210", "OMP211"]),
        (["omptool", "verify", "--explain", "OMP32"], [f"OMP32{n}" for n in range(1, 6)]),
        (["omptool", "run", "--check", "--check-"], ["--check-error", *DOCUMENTS]),
        (["omptool", "run", "--check=full", "--check-error", "--check-s"], ["--check-sarif"]),
        (["omptool", "verify", "--select", "OMP13"], LATE),
        (["omptool", "verify", "--ignore", "OMP130,OMP13"], AFTER_130),
        (["omptool", "dump", "--color", ""], ["auto", "always", "never"]),
        (["omptool", "help", "de"], ["devices"]),
    ],
)
def test_bash_completes(words: list[str], offered: list[str]) -> None:
    assert sorted(in_bash(*words)) == sorted(offered)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_a_script(tmp_path: Path, shell: str) -> None:
    environment = ENVIRONMENT | {"_OMPTOOL_COMPLETE": f"{shell}_source"}
    command = [str(OMPTOOL)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert "_OMPTOOL_COMPLETE" in done.stdout
    if shutil.which(shell):
        script = tmp_path / "completion"
        script.write_text(done.stdout)
        subprocess.run([shell, "-n", str(script)], check=True)
