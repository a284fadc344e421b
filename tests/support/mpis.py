# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The MPIs of this machine, and jobs of them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest
from fixture_programs import OMPTOOL
from machine import lacks

PATIENCE = 120  # seconds, on a loaded machine
# Root may start jobs, and ranks share cores.
ALLOWED = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_mca_base_component_show_load_errors": "0",
}


class Mpi(NamedTuple):
    """An MPI, by its launcher and by the names of its libraries."""

    name: str
    launcher: tuple[str, ...]
    library: str

    @property
    def path(self) -> Path:
        """The library's file, beside the launcher."""
        found = shutil.which(self.launcher[0])
        if not found:
            lacks(f"{self.launcher[0]} is not here: apt-get install openmpi-bin mpich")
        lib = Path(found).resolve().parents[1] / "lib"
        return next(path for path in lib.glob(f"**/{self.library}"))


DEBIAN = (
    Mpi("openmpi", ("mpirun.openmpi", "--oversubscribe", "--bind-to", "none"), "libmpi.so.40"),
    Mpi("mpich", ("mpiexec.mpich",), "libmpich.so.12"),
)
EACH = pytest.mark.parametrize("mpi", DEBIAN, ids=lambda mpi: mpi.name)


def job(mpi: Mpi, *words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a job: `words` follow the launcher, as "-n", 3, "./app"."""
    assert mpi.path
    return subprocess.run(
        [*mpi.launcher, *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
        env=os.environ | ALLOWED | environment,
    )


def with_workers(
    mpi: Mpi, count: int, *words: object, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a program that has so many workers."""
    return job(mpi, "-n", count + 1, OMPTOOL, "run", "--workers", *words, **environment)
