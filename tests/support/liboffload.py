# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fake and real liboffload (runtime/tests/support/fakes/liboffload), and programs for the fake."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from pathlib import Path

from clangs import UNPACKED
from fixture_programs import call
from places import ROOT
from products import Products

RUNTIME = ROOT / "runtime"
WARNINGS = ("-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror")
# Release: the library's name.
NAMES = {number: f"libLLVMOffload.so.{number}.{int(number < 24)}" for number in (22, 23, 24)}
GFX90A = 0x3F  # value of e_flags
_MAGIC = b"\x7fELF\x02\x01\x01"


def fake(products: Products, release: int) -> Path:
    """Return the fake library with the interface of a release."""
    folder = products.made(f"fake-liboffload-{release}", lambda to: _build(to, release))
    return folder / NAMES[release]


def _build(folder: Path, release: int) -> Path:
    machine = RUNTIME / "machine" / os.uname().machine
    sources = RUNTIME / "tests" / "support" / "fakes" / "liboffload"
    includes = [
        f"-I{RUNTIME / part}"
        for part in ("include", "common", "plugins/host", "plugins/liboffload")
    ]
    flags = ("-std=c++20", "-shared", "-fPIC", "-fvisibility=hidden", "-D_GNU_SOURCE", *WARNINGS)
    form = (f"-DFAKE_RELEASE={release}", f"-Wl,-soname,{NAMES[release]}", "-Wl,-z,nodelete")
    files = (sources / "fake.cpp", sources / "images.cpp", machine / "call.cpp")
    call("g++", *flags, *form, *includes, f"-I{machine}", *files, "-o", folder / NAMES[release])
    return folder


def real(release: int) -> Path:
    """Return the path of Debian's library, which scripts/compilers.sh unpacks."""
    return UNPACKED / str(release) / "usr" / "lib" / "x86_64-linux-gnu" / NAMES[release]


def header(release: int) -> Path:
    """Return the folder of a release's public headers."""
    return UNPACKED / str(release) / "usr" / "lib" / f"llvm-{release}" / "include"


def environment(library: Path, **more: str) -> dict[str, str]:
    """Return the environment to use this library alone; a launch calls its kernel only once."""
    return {
        "OMPTOOL_PLUGINS": "liboffload",
        "OMPTOOL_LIBOFFLOAD_PATH": str(library),
        "FAKE_OFFLOAD_ONCE": "1",
    } | more


def for_amd(program: Path, into: Path) -> Path:
    """Copy a program, and change the headers of its CPU images to AMD's gfx90a."""
    data = bytearray(program.read_bytes())
    count = 0
    at = data.find(_MAGIC, 1)
    while at >= 0:
        kind, machine = struct.unpack_from("<HH", data, at + 16)
        if kind == 3 and machine in (62, 183):
            data[at + 7 : at + 9] = b"\x40\x02"
            struct.pack_into("<H", data, at + 18, 224)
            struct.pack_into("<I", data, at + 48, GFX90A)
            count += 1
        at = data.find(_MAGIC, at + 1)
    assert count, f"{program} has no image for the CPU"
    into.write_bytes(data)
    shutil.copymode(program, into)
    return into


def lines(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Return the lines of a program's stderr."""
    return done.stderr.splitlines()
