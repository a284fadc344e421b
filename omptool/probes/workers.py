# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranks of an MPI job: find this process's rank, and start a worker and its program."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NoReturn

from omptool.errors import fail
from omptool.installation import libdir
from omptool.probes.ask import ONLY
from omptool.probes.in_own_process import OBSERVERS
from omptool.probes.launching import Start, why_not
from omptool.probes.watching import IGNORED, watched
from packager.machine.facts import FOLDERS
from packager.records import NamedTuple

PLUGIN, WORKER = "mpi", "omptool-worker"
MPI = ("libmpi.so", "libmpich.so", "libmpi_abi.so")  # libraries of programs that use MPI
# Variables in which launchers pass rank and size of the job; Slurm may start another launcher.
LAUNCHERS = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("PMIX_RANK", "SLURM_NTASKS"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
)
# Variables that make MPI_Init provide MPI_THREAD_MULTIPLE, in Open MPI, MPICH and its relatives.
LEVELS = {
    "OMPI_MPI_THREAD_LEVEL": "3",
    "MPIR_CVAR_DEFAULT_THREAD_LEVEL": "MPI_THREAD_MULTIPLE",
}
HEARTBEAT = "OMPTOOL_MPI_HEARTBEAT"
# Each construct with nowait occupies a thread of libomp, which allows at most 16.
HELPERS = {"LIBOMP_NUM_HIDDEN_HELPER_THREADS": "16"}
STARTED = "OMPTOOL_MPI_STARTED"  # names a file to which the plugin writes when it uses MPI


class Rank(NamedTuple):
    """A process of an MPI job."""

    number: int
    size: int | None  # None: unknown to the launcher


def rank_of(environment: Mapping[str, str]) -> Rank | None:
    """Return this process's rank from its launcher's variables; None outside a job."""
    for rank, size in LAUNCHERS:
        number, count = environment.get(rank, ""), environment.get(size, "")
        if number.isdecimal():
            return Rank(int(number), int(count) if count.isdecimal() else None)
    return None


def worker(environment: Mapping[str, str], *options: str) -> Start:
    """Return the start of a worker, which opens the plugins of a program, but not its own."""
    mine = dict(environment)
    for name in OBSERVERS:
        mine.pop(name, None)
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
    mine = {**LEVELS, **HELPERS, **({HEARTBEAT: "0"} if is_in_gdb else {}), **environment}
    folders = [str(libdir() / PLUGIN), mine.get(FOLDERS, "")]
    mine[FOLDERS] = ":".join(filter(None, folders))
    plugins = list(filter(None, mine.get(ONLY, "").split(",")))
    if plugins and PLUGIN not in plugins:
        mine[ONLY] = ",".join([*plugins, PLUGIN])
    return mine


def refuse_user_of_mpi(start: Start, exit_code: int) -> None:
    """End for a program that uses MPI: its first call for all processes would never return."""
    from packager.files.reader import open_reader
    from packager.machine.program import inspect_program

    with open_reader(start.file) as data:
        inspected = inspect_program(start.file, data)
    needed = inspected.needed if inspected else ()
    found = next((name for name in needed if name.startswith(MPI)), "")
    if found:
        program = start.words[0]
        cure = f"start it beside workers: mpirun -n 2 {program} : -n 6 omptool worker"
        what = f"needs {found}, and workers would be in its MPI_COMM_WORLD"
        fail(f"{program}: {what}; {cure}", exit_code)


@contextmanager
def waiting() -> Iterator[dict[str, str]]:
    """Yield variables with which one process of the block gets this job's workers.

    If no process has used MPI when the block ends, the workers are stopped: they would wait for
    ever.
    """
    file = os.memfd_create("omptool started")  # launchers kill: nothing may be left on a disk
    try:
        yield {STARTED: f"/proc/{os.getpid()}/fd/{file}"}
    finally:
        if not os.fstat(file).st_size:
            watched(worker(os.environ, "--dismiss"), is_output_moved=True)
        os.close(file)


def serve(start: Start, command: str, exit_code: int) -> NoReturn:
    """Replace this process by a worker."""
    for number in IGNORED:
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execve(start.file, start.words, start.environment)
    except OSError as error:
        fail(f"{command}: {start.file}: {why_not(start.file, error)}", exit_code)


def checked_rank(command: str, exit_code: int) -> Rank:
    """Return the rank of this process, or end: it is in no job, or alone in one."""
    rank = rank_of(os.environ)
    if rank is None:
        fail(f"{command}: this process is in no MPI job: start it with mpirun or srun", exit_code)
    if rank.size == 1:
        fail(f"{command}: the job has one process: a worker is a further one", exit_code)
    return rank


def can_be_had() -> bool:
    """Return whether this process is in a job of several, and so may have or be workers."""
    rank = rank_of(os.environ)
    return rank is not None and rank.size != 1


def serve_unless_first(command: str, exit_code: int) -> None:
    """Replace this process by a worker, unless it is the first of its MPI job."""
    if checked_rank(command, exit_code).number:
        serve(worker(os.environ), command, exit_code)


@contextmanager
def asked() -> Iterator[dict[str, str]]:
    """Yield the environment in which one process can ask the plugins, with this job's workers."""
    with waiting() as variables:
        yield with_workers(os.environ) | variables
