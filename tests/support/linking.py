# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Links with each of the four linkers that users have."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from machine import lacks

LINKERS = ("bfd", "gold", "lld", "mold")
# Folder of Debian's unversioned ld.lld, which -fuse-ld=lld requires.
LLD_FOLDER = "/usr/lib/llvm-19/bin"
# Clang's default ld takes twice as long: it loads LLVM to look for bitcode.
FAST_LINKER = f"--ld-path={LLD_FOLDER}/ld.lld"
OWN_LINKER = "--ld-path=/usr/bin/ld"


def needs_gold() -> None:
    """End the test where there is no gold: since Debian 13 it is a package of its own."""
    if not shutil.which("ld.gold"):
        lacks("gold is not here: apt-get install binutils-gold")


def link(out: Path, *inputs: Path, linker: str = "bfd", flags: tuple[str, ...] = ()) -> Path:
    """Link `inputs` to `out` through gcc; show the linker's output if it fails."""
    if linker == "gold":
        needs_gold()
    environment = os.environ | {"PATH": f"{LLD_FOLDER}:{os.environ['PATH']}"}
    options = [f"-fuse-ld={linker}", "-Wl,--no-as-needed"]  # some distributions' gcc says otherwise
    command = ["gcc", *options, *map(str, inputs), *flags, "-o", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr, done.stderr
    return out
