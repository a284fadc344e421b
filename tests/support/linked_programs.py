# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of several objects, compiled by any clang and linked by omptool."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import running
from clangs import INSTALLED, libraries, made, own_library, tool
from documents import dumped_images
from fixture_programs import NVPTX, OMPTOOL, X86_64
from linking import LLD_FOLDER
from places import TESTS

SOURCES = TESTS / "packager" / "linking" / "sources"
PROGRAM = ("calls", "summed", "scaled")
PRINTED = "10 150\n"
# Options for bitcode, which needs no CUDA; the last options count.
GPU = ("-Xopenmp-target=" + NVPTX, "-march=sm_90", "-foffload-lto", "-nogpulib")
TWO_TARGETS = (f"-fopenmp-targets={NVPTX},{X86_64}", *GPU, "--cuda-path=/nowhere")
# Any way to the device will do.
DEVICES = {**running.MANDATORY, "OMPTOOL_PLUGINS": "host"}


def compiled(folder: Path, name: str, *flags: str, version: str = INSTALLED) -> Path:
    """Compile a source of this folder by a clang, with code for the CPU as a device."""
    clang = [*tool(version), "-O1", "-fopenmp", f"-fopenmp-targets={X86_64}", *flags, "-c"]
    return made(folder / f"{name}.o", *clang, SOURCES / f"{name}.c")


def program(folder: Path, *flags: str, version: str = INSTALLED) -> list[Path]:
    return [compiled(folder, name, *flags, version=version) for name in PROGRAM]


def driver(version: str = INSTALLED) -> list[str]:
    search = f"-L{libraries(version).split(':')[-1]}"
    return [*tool(version), "-fopenmp", *own_library(version), search]


def linked(out: Path, *words: object, options: Sequence[object] = ()) -> str:
    """Link `out` by a command; return omptool's output."""
    done = subprocess.run(
        [OMPTOOL, "link", *map(str, options), "--", *map(str, words), "-o", str(out)],
        capture_output=True, text=True, check=False, env=os.environ | {"PATH": searched()},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stderr


def searched() -> str:
    """Return PATH with the folder of Debian's unversioned ld.lld."""
    return f"{LLD_FOLDER}:{os.environ['PATH']}"


def printed(path: Path, **environment: str) -> str:
    """Return the output of a program whose regions must all offload, on its own runtime."""
    done = subprocess.run(
        [path], capture_output=True, text=True, check=False, timeout=running.PATIENCE,
        env=os.environ | DEVICES | environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def kernels(path: Path) -> set[str]:
    """Return the functions whose regions a file's images have."""
    found = dumped_images(path)
    return {name.rsplit("_", 1)[0].rsplit("_", 1)[1] for i in found for name in i["kernels"]}
