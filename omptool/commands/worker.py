# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool worker`: provide this MPI rank's devices to a program of the same job."""

from __future__ import annotations

import os

import click

from omptool.errors import reported
from omptool.probes.workers import checked_rank, serve, worker

WRONG_USAGE, MISSING = 2, 3


@click.command()
def command() -> None:
    """Serve the devices of this machine to a program of the same MPI job.

    It is a part of a job of several programs, beside one that uses MPI itself: `mpirun -n 2 ./app :
    -n 6 omptool worker`. The program splits MPI_COMM_WORLD by MPI_APPNUM, as its workers do. Each
    of its ranks gets as many workers as the others. For programs without MPI, `omptool run
    --workers` starts workers by itself.

    Exits 0 when the program has ended, 1 when the program or MPI fails, 2 outside an MPI job, 3
    without a runtime.
    """
    checked_rank("worker", WRONG_USAGE)
    with reported("worker"):
        start = worker(os.environ, "--split")
    serve(start, "worker", MISSING)
