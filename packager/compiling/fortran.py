# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Find the compiler of Fortran's sources, and make its commands for devices.

Its driver neither takes `-Xopenmp-target` nor `-foffload-lto`, and needs LLVM's own tools to put
device code into objects. So host and devices are compiled apart, the devices to bitcode.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from packager.compiling.compilers import NEWEST, Compiler, is_this, release_in, words_of
from packager.compiling.targets import OPENMP, Target
from packager.errors import MissingToolError
from packager.linking.host_command import program_at
from packager.processes.programs import which

OLDEST = 19  # oldest flang to search for
FLANGS = ("flang", "flang-new")  # the second until 19
VARIABLE = "FC"
_VERSION = re.compile(rb"flang(?:-new)? version (\d+)")
# Names of Fortran compilers, and of MPI's wrappers for them.
_NAME = re.compile(
    r"(?:.+-)?(?:flang(?:-new)?|\w*fort(?:ran)?|\w*f(?:77|90|95)|ifx|ftn)(?:-[\d.]+)?"
)


def is_fortrans(compiler: Sequence[str]) -> bool:
    """Return whether a compiler is Fortran's, by its name."""
    return bool(compiler) and bool(_NAME.fullmatch(Path(compiler[program_at(compiler)]).name))


@lru_cache
def flangs_release(compiler: tuple[str, ...]) -> int | None:
    """Return the release of a flang, None for another compiler.

    Raises MissingToolError when it cannot be started.
    """
    return release_in(compiler, _VERSION)


def unnamed() -> Compiler:
    """Return the default Fortran compiler: FC, or the newest flang on PATH.

    Raises MissingToolError if both are missing.
    """
    words = words_of(os.environ.get(VARIABLE, ""))
    if words and not is_this(words):
        return Compiler(tuple(words), f"the compiler is {shlex.join(words)}, of {VARIABLE}")
    for name in _names():
        if which(name):
            return Compiler((name,), f"the compiler is {name}")
    looked = f"no flang is on PATH (flang, or flang-{OLDEST} to flang-{NEWEST})"
    raise MissingToolError(f"{looked}: install one, or name it with {VARIABLE} or --cc")


def _names() -> Iterator[str]:
    """Yield the names of flangs, newest release first; an unversioned name counts as the newest."""
    yield FLANGS[0]
    for release in range(NEWEST, OLDEST - 1, -1):
        yield from (f"{name}-{release}" for name in FLANGS)


def of_the_host(targets: Sequence[Target]) -> list[str]:
    """Return the options for the host's object: with an entry table, and without device code."""
    named = ",".join(target.triple for target in targets)
    return [OPENMP, f"-fopenmp-targets={named}", "--offload-host-only"]


def of_device(target: Target, arch: str) -> list[str]:
    """Return the options for a target's code, as bitcode."""
    words = [OPENMP, f"-fopenmp-targets={target.triple}"]
    if arch:
        words.append(f"--offload-arch={arch}" if target.is_gpu else f"-march={arch}")
    return [
        *words,
        *(["-nogpulib"] if target.is_gpu else []),
        "--offload-device-only",
        "-emit-llvm",
    ]
