# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of Fortran are right on the CPU device, whoever links them, at each level."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import NamedTuple

import mpis
import over_workers
import pytest
from clangs import made, tool
from flang import LIBOMP, OFFLOADING, WAYS, c_object
from places import TESTS
from running import MANDATORY, run

from omptool.installation import libdir

pytestmark = pytest.mark.offloads

SOURCES = TESTS / "programs" / "fortran" / "programs"
LEVELS = ("-O0", "-O2", "-O3")
THREADS = {"OMP_NUM_THREADS": "2"}
OPENMP_52, OPENMP_60 = "-fopenmp-version=52", "-fopenmp-version=60"


class Program(NamedTuple):
    """A program: arguments, output and exit code. Kernels print in any order."""

    flags: tuple[str, ...] = (OPENMP_52,)
    stdout: tuple[str, ...] = ("ok",)
    code: int = 0


DEVICES_LINES = ("one of the device", "two of the device 2")
PROGRAMS = {
    "concurrent": Program((OPENMP_52, "-fdo-concurrent-to-openmp=device")),
    "limits": Program(()),
    "memory": Program(),
    "output": Program(
        stdout=(*DEVICES_LINES, *(f"of a team {i}" for i in (1, 2, 3)), "of the host")
    ),
    "reductions": Program(),
    "schedules": Program(),
    "shared": Program(),
    "stops": Program(stdout=(), code=3),
    "teams": Program(),
    "together": Program(),
    "vectors": Program(),
    "workdistribute": Program((OPENMP_60,)),
}
# Programs of `make test`.
SAMPLE = {
    ("schedules", "driver", "-O2"),
    ("teams", "driver", "-O2"),
    ("shared", "driver", "-O3"),
    ("together", "link", "-O0"),
    ("output", "link", "-O2"),
    ("reductions", "cc", "-O3"),
    ("limits", "driver", "-O2"),
    ("memory", "cc", "-O2"),
    ("stops", "cc", "-O0"),
}
CASES = [
    pytest.param(*case, id="-".join(case), marks=[] if case in SAMPLE else [pytest.mark.exhaustive])
    for case in ((name, by, level) for name in PROGRAMS for by in WAYS for level in LEVELS)
]


def test_each_program_is_tried() -> None:
    assert sorted(PROGRAMS) == sorted(path.stem for path in SOURCES.glob("*.f90"))


def built(name: str, by: str, level: str, into: Path) -> Path:
    """Build a program, together with its part in C if it has one."""
    sources = [SOURCES / f"{name}.f90"]
    if (in_c := SOURCES / f"{name}.c").exists():
        sources.append(c_object(in_c, into))
    flags = (*PROGRAMS[name].flags, level, f"-J{into}")
    return WAYS[by](into / name, sources, flags)


def ended(program: Path) -> subprocess.CompletedProcess[str]:
    return run(program, **MANDATORY, **THREADS)


@pytest.mark.parametrize(("name", "by", "level"), CASES)
def test_programs(name: str, by: str, level: str, tmp_path: Path) -> None:
    expected = PROGRAMS[name]
    done = ended(built(name, by, level, tmp_path))
    assert done.returncode == expected.code, done.stdout + done.stderr
    assert sorted(done.stdout.splitlines()) == sorted(expected.stdout)
    if expected.code == 0:
        assert done.stderr == ""


def test_teams_on_a_worker(tmp_path: Path) -> None:
    """The worker's plugin reports which kernels accept a shape, and receives it."""
    program = built("teams", "driver", "-O2", tmp_path)
    done = run(program, **MANDATORY, **THREADS, **over_workers.environment(mpis.DEBIAN[0]))
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr


def test_more_arguments_than_a_region_can_pass(tmp_path: Path) -> None:
    source = TESTS / "programs" / "fortran" / "many_arguments.c"
    runtime = (f"-L{libdir()}", "-lomptarget.devicertl.host", LIBOMP)
    # The host's version of the region never runs, and needs nothing of the archive.
    absent = ("__kmpc_target_init", "__kmpc_parallel_60")
    host = [f"-Wl,--defsym={name}=0" for name in absent]
    program = made(tmp_path / "many", *tool("22"), *OFFLOADING, source, *runtime, *host)
    done = ended(program)
    assert done.returncode == -6
    line = "a parallel region in a kernel has 5 arguments; the device runtime passes 0 to 4"
    assert f"omptarget: {line}" in done.stderr.splitlines()
    assert done.stdout == "4 arguments\n"


def test_the_archive_has_no_symbols_of_a_host() -> None:
    archive = libdir() / "libomptarget.devicertl.host.a"
    done = subprocess.run(["nm", archive], capture_output=True, text=True, check=True)
    assert [line for line in done.stdout.splitlines() if line and line[-1] != ":"] == []
