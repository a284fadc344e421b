# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs for the tests of `omptool bundle` and `omptool emit`."""

from __future__ import annotations

import subprocess
from pathlib import Path

from places import INCLUDE, TESTS

TRIPLE = "x86_64-pc-linux-gnu"
HOST = (TESTS / "omptool" / "commands" / "sources" / "bundle_host.c").read_text()
PLAIN = (TESTS / "omptool" / "commands" / "sources" / "bundle_plain.c").read_text()
DEVICE = (TESTS / "omptool" / "commands" / "sources" / "bundle_device.c").read_text()


PTX = """
.version 6.4
.target sm_75
.address_size 64
.visible .entry first(.param .u64 p) { ret; }
.visible .global .align 4 .b8 table[16];
.visible .entry second(.param .u64 p) { ret; }
"""


def compile_object(folder: Path, name: str, source: str, *flags: str) -> Path:
    (folder / f"{name}.c").write_text(source)
    out = folder / f"{name}.o"
    command = ["gcc", "-O1", f"-I{INCLUDE}", *flags, str(folder / f"{name}.c"), "-o", str(out)]
    subprocess.run(command, check=True)
    return out


def made(folder: Path) -> Path:
    """Make host.o with its own entries, plain.o without, and image.so with kernels and table."""
    compile_object(folder, "host", HOST, "-c")
    compile_object(folder, "plain", PLAIN, "-c")
    compile_object(folder, "image", DEVICE, "-shared", "-fPIC").rename(folder / "image.so")
    return folder
