# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds programs of Fortran by flang 22, in the three ways that their users have."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from clangs import made, tool
from fixture_programs import OMPTOOL, X86_64
from machine import lacks

from omptool.installation import libdir

NAME = "flang-22"
RELEASE = "22"
OFFLOADING = ("-fopenmp", f"-fopenmp-targets={X86_64}")
LIBOMP = "-L/usr/lib/llvm-19/lib"  # libomp-22-dev cannot be installed beside it


def command() -> list[str]:
    """Return flang as a command, with LLVM's tools on its PATH."""
    if shutil.which(NAME) is None:
        lacks(f"{NAME} is not here: install Debian's package")
    return [*tool(RELEASE, "clang")[:-1], NAME]


def by_driver(out: Path, sources: Sequence[Path], flags: Sequence[str]) -> Path:
    """Build by flang's own driver, which needs the archive's name and nothing else."""
    runtime = (f"-L{libdir()}", "-lomptarget.devicertl.host", LIBOMP)
    return made(out, *command(), *OFFLOADING, *flags, *sources, *runtime)


def by_link(out: Path, sources: Sequence[Path], flags: Sequence[str]) -> Path:
    """Build an object of each source, and link them by `omptool link`."""
    objects = [_object(source, out.parent, flags) for source in sources]
    return made(out, OMPTOOL, "link", "--", NAME, *objects, LIBOMP, "-lomp")


def by_cc(out: Path, sources: Sequence[Path], flags: Sequence[str]) -> Path:
    """Build by `omptool cc`, with device code in bitcode."""
    objects = [source for source in sources if source.suffix == ".o"]
    own = [source for source in sources if source not in objects]
    words = ("--cc", NAME, "--", *OFFLOADING, *flags, *own, *objects, LIBOMP)
    return made(out, OMPTOOL, "cc", *words)


def _object(source: Path, into: Path, flags: Sequence[str]) -> Path:
    if source.suffix == ".o":
        return source
    return made(into / f"{source.stem}.o", *command(), *OFFLOADING, *flags, "-c", source)


def c_object(source: Path, into: Path) -> Path:
    """Compile C's part of a program by the clang of flang's release."""
    clang = tool(RELEASE)
    return made(into / f"{source.stem}_c.o", *clang, *OFFLOADING, "-O1", "-c", source)


Way = Callable[[Path, Sequence[Path], Sequence[str]], Path]
WAYS: dict[str, Way] = {"driver": by_driver, "link": by_link, "cc": by_cc}
