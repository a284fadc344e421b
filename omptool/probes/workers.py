# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranks of an MPI job: which one this process is, and how a worker and its program start."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from omptool.errors import fail
from omptool.installation import libdir
from omptool.probes.ask import ONLY
from omptool.probes.launching import Start
from omptool.probes.watching import watched
from packager.machine.facts import FOLDERS
from packager.records import NamedTuple

PLUGIN, WORKER = "mpi", "omptool-worker"
MPI = ("libmpi.so", "libmpich.so", "libmpi_abi.so")  # libraries of programs that use MPI
# Launchers tell the rank and the size of the job; Slurm may have started another launcher.
LAUNCHERS = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("PMIX_RANK", "SLURM_NTASKS"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
)
# They make MPI_Init give MPI_THREAD_MULTIPLE, in Open MPI and in MPICH and its relatives.
LEVELS = {
    "OMPI_MPI_THREAD_LEVEL": "3",
    "MPIR_CVAR_DEFAULT_THREAD_LEVEL": "MPI_THREAD_MULTIPLE",
}
HEARTBEAT = "OMPTOOL_MPI_HEARTBEAT"
STARTED = "OMPTOOL_MPI_STARTED"  # names a file that the plugin makes when it uses MPI


class Rank(NamedTuple):
    """A process of an MPI job."""

    number: int
    size: int | None  # None: the launcher does not say it


def rank_of(environment: Mapping[str, str]) -> Rank | None:
    """Return which process of its job this is, as its launcher says; None outside a job."""
    for rank, size in LAUNCHERS:
        number, count = environment.get(rank, ""), environment.get(size, "")
        if number.isdecimal():
            return Rank(int(number), int(count) if count.isdecimal() else None)
    return None


def worker(environment: Mapping[str, str], *options: str) -> Start:
    """Return the start of a worker, which opens the plugins of a program, but not its own."""
    mine = dict(environment)
    plugins = [name for name in mine.pop(ONLY, "").split(",") if name not in ("", PLUGIN)]
    if plugins:
        mine[ONLY] = ",".join(plugins)
    folders = [str(libdir()), mine.get("LD_LIBRARY_PATH", "")]
    mine["LD_LIBRARY_PATH"] = ":".join(filter(None, folders))
    file = libdir() / WORKER
    return Start(file, (str(file), *options), mine)


def with_workers(environment: Mapping[str, str], *, is_in_gdb: bool = False) -> dict[str, str]:
    """Return the environment in which a program has the devices of its workers.

    In gdb it may stand still as long as it likes.
    """
    mine = {**LEVELS, **({HEARTBEAT: "0"} if is_in_gdb else {}), **environment}
    folders = [str(libdir() / PLUGIN), mine.get(FOLDERS, "")]
    mine[FOLDERS] = ":".join(filter(None, folders))
    plugins = list(filter(None, mine.get(ONLY, "").split(",")))
    if plugins and PLUGIN not in plugins:
        mine[ONLY] = ",".join([*plugins, PLUGIN])
    return mine


def run_with_workers(start: Start) -> int:
    """Run a program whose workers wait, and return its end as `watched` does.

    Where it ends without having used MPI, its workers are sent home: else they would wait for ever.
    """
    with _marker() as started:
        environment = {**start.environment, STARTED: str(started)}
        try:
            return watched(start._replace(environment=environment))
        finally:
            if not started.exists():
                dismiss()


def dismiss() -> None:
    """Tell the workers of this job, in place of the program, that there is nothing to do."""
    watched(worker(os.environ, "--dismiss"), is_output_moved=True)


@contextmanager
def _marker() -> Iterator[Path]:
    """Yield the path of a file that is not there yet, in a folder that nobody else writes to."""
    with tempfile.TemporaryDirectory(prefix="omptool-") as folder:
        yield Path(folder, "started")


def checked_rank(command: str, exit_code: int) -> Rank:
    """Return the rank of this process, or end: it is in no job, or alone in one."""
    rank = rank_of(os.environ)
    if rank is None:
        fail(f"{command}: this process is in no MPI job: start it with mpirun or srun", exit_code)
    if rank.size == 1:
        fail(f"{command}: the job has one process: a worker is a further one", exit_code)
    return rank
