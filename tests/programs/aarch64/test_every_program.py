# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs of openmp and book for AArch64, by clang 19 at -O0 and -O2, run by qemu each way."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from aarch64 import (
    GCC,
    LIBOMP,
    NOT_EMULATED,
    OFFLOADING,
    QEMU,
    RUNTIME,
    TARGET,
    needs_tools,
)
from clangs import INSTALLED, WARNINGS, tool
from linking import LLD_FOLDER
from listed import reasons
from machine import lacks, output
from outcomes import ADDRESS, ENVIRONMENT, Outcome
from products import Products
from running import MANDATORY
from whole_programs import PROGRAMS, expected

pytestmark = [pytest.mark.offloads, pytest.mark.exhaustive]
PATIENCE = 600  # seconds
FLAGS = (*OFFLOADING, "-fopenmp-extensions", "-fopenmp-version=51")
# Line that qemu adds when a program ends by a signal.
ADDED = re.compile(r"^qemu: uncaught target signal .*\n", re.MULTILINE)
EMULATED = [program for program in PROGRAMS if program.stem not in reasons(NOT_EMULATED)]


@pytest.fixture(scope="module")
def libraries(products: Products) -> Path:
    """Provide a folder with libomp and an empty stand-in for the device library."""
    if not RUNTIME.exists():
        lacks("the runtime for AArch64 is not here: scripts/test.sh builds it")
    if not LIBOMP.exists():
        lacks("libomp for AArch64 is not here: scripts/compilers.sh unpacks it")
    needs_tools()

    def fill(folder: Path) -> None:
        for name in ("libomp.so", "libomp.so.5"):
            (folder / name).symlink_to(LIBOMP)
        device = folder / "libomptarget.devicertl.so"
        output(GCC, "-shared", "-x", "c", "/dev/null", "-o", device)

    return products.folder("libraries-aarch64", fill)


def built(source: Path, level: str, libraries: Path, out: Path) -> str | None:
    """Build the program; return clang's error, if any."""
    clang = tool(INSTALLED, "clang++" if source.suffix == ".cpp" else "clang")
    words = [*clang, f"--target={TARGET}", level, *FLAGS, *WARNINGS]
    words += [f"--ld-path={LLD_FOLDER}/ld.lld", f"-L{libraries}", f"-L{RUNTIME.parent}"]
    done = subprocess.run(
        [*words, str(source), "-o", str(out)], capture_output=True, text=True, check=False
    )
    if done.returncode == 0:
        return None
    error = re.search(r"error: (.*)", done.stderr)
    return error[1] if error else done.stderr


def ended(program: Path, libraries: Path, way: Mapping[str, str]) -> Outcome:
    """Return how the program ends on a machine with pages of 4 KiB."""
    words = [*QEMU, "-E", f"LD_LIBRARY_PATH={libraries}:{RUNTIME.parent}", str(program)]
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
        env={**os.environ, **ENVIRONMENT, **MANDATORY, **way},
    )
    stderr = ADDRESS.sub("0x…", ADDED.sub("", done.stderr))
    return Outcome(None, done.returncode, done.stdout, stderr)


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("source", EMULATED, ids=lambda path: path.stem)
def test_it_ends_as_told(
    products: Products, libraries: Path, source: Path, level: str, way: Mapping[str, str]
) -> None:
    def build(folder: Path) -> tuple[Path, str | None]:
        program = folder / source.stem
        return program, built(source, level, libraries, program)

    program, refusal = products.made(f"aarch64-{source.stem}{level}", build)
    outcome = ended(program, libraries, way) if refusal is None else Outcome(refusal=refusal)
    assert outcome == expected(source)
