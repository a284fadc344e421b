"""Links with each of the four linkers that users have."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

LINKERS = ("bfd", "gold", "lld", "mold")
# Debian keeps an unversioned ld.lld, which is what -fuse-ld=lld looks for, only here.
LLD_FOLDER = "/usr/lib/llvm-19/bin"
# For clang, which takes twice as long with its own choice: ld loads LLVM to look for bitcode.
FAST_LINKER = f"--ld-path={LLD_FOLDER}/ld.lld"
OWN_LINKER = "--ld-path=/usr/bin/ld"


def link(out: Path, *inputs: Path, linker: str = "bfd", flags: tuple[str, ...] = ()) -> Path:
    """Link `inputs` to `out` through gcc; a failure shows what the linker said."""
    environment = os.environ | {"PATH": f"{LLD_FOLDER}:{os.environ['PATH']}"}
    options = [f"-fuse-ld={linker}", "-Wl,--no-as-needed"]  # some distributions' gcc says otherwise
    command = ["gcc", *options, *map(str, inputs), *flags, "-o", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr, done.stderr
    return out
