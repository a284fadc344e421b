# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Regions on workers of an MPI job, beside MPI's own messages in the same job.

Usage: python bench/mpi.py [--mpi openmpi|mpich]... [--runs 20] [--mib 1024] [--part NAME]...

bench/mpi.c runs with Debian's openmpi-bin and mpich (apt-get install openmpi-bin mpich), in these
jobs, on one machine:

beside   two processes of MPI's, which exchange messages, and a worker for each: counts of messages,
         the time of a region, of the processor to issue one, and copies of --mib MiB
held     a worker, and then 16, each message held for 5 ms: round trips that regions take
naps     16 workers, kernels that sleep for 10 ms: the part of the time in which they sleep

A figure is the best of --runs, but a copy's is the median of its ratios to MPI's own copy just
before it. Where MPI's own copies differ by more than a fifth, nothing is asked of ours.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from tabulate import tabulate

from omptool.installation import includedir, libdir

HERE = Path(__file__).parent
TRIPLE = "x86_64-pc-linux-gnu"
PLUGIN = libdir() / "mpi" / "libomptarget.rtl.mpi.so"
PARTS = ("beside", "held", "naps")
HOLD, NAP, RANKS = 5, 10, 16  # ms, ms, workers
# Allow root to start jobs, and ranks to share cores.
ALLOWED = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
Figures = dict[str, list[float]]
Row = tuple[str, str, str]


class Mpi(NamedTuple):
    """An MPI of Debian's: its launcher with options, its library, flags for the program."""

    launcher: tuple[str, ...]
    library: str
    flags: tuple[str, ...]


KNOWN = {
    "openmpi": Mpi(
        ("mpirun.openmpi", "--oversubscribe", "--bind-to", "none"), "libmpi.so.40", ("-DOPEN_MPI",)
    ),
    "mpich": Mpi(("mpiexec.mpich",), "libmpich.so.12", ()),
}


def build(mpi: Mpi, folder: Path) -> Path:
    """Return the program with the kernels in it."""
    image, host, bundled, program = (folder / name for name in ("k.so", "h.o", "b.o", "mpi"))
    compile_host = ["cc", "-O2", *mpi.flags, f"-I{includedir()}", "-c", HERE / "mpi.c", "-o", host]
    libraries = [f"-L{libdir()}", "-lomptarget", f"-l:{mpi.library}"]
    for command in (
        ["cc", "-O2", "-shared", "-fPIC", HERE / "mpi_kernels.c", "-o", image],
        compile_host,
        ["omptool", "bundle", host, "--image", f"{TRIPLE}={image}", "-o", bundled],
        ["cc", bundled, *libraries, "-o", program],
    ):
        subprocess.run(list(map(str, command)), check=True)
    return program


def job(
    mpi: Mpi, processes: int, workers: int, program: Path, *words: object, hold: int = 0
) -> Figures:
    """Run a job of so many processes and workers. Return the figures that it prints."""
    environment = os.environ | ALLOWED | {"OMPTOOL_PLUGINS": "mpi", "OMPTOOL_MPI_HOLD": str(hold)}
    environment |= {"OMPTOOL_PLUGIN_PATH": str(PLUGIN.parent), "OMP_TARGET_OFFLOAD": "MANDATORY"}
    # MPI may copy a GiB in one call, which delays a worker's heartbeat on a busy machine.
    environment["OMPTOOL_MPI_HEARTBEAT"] = "0"
    part, *rest = map(str, words)
    command = [*mpi.launcher, "-n", str(processes), "omptool", "run", str(program), part]
    command += [str(PLUGIN), *rest, ":", "-n", str(workers), "omptool", "worker"]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"exit code {done.returncode}: {' '.join(command)}")
    figures = defaultdict(list)
    for line in done.stdout.splitlines():
        name, figure = line.split()
        figures[name].append(float(figure))
    return figures


def copies(raw: Sequence[float], ours: Sequence[float], what: str, size: int) -> Row:
    """Return a row: the speed of our copies as a part of MPI's."""
    ratio = median(one / other for one, other in zip(raw, ours, strict=True))
    varies = max(raw) / min(raw) - 1
    speeds = ", ".join(f"{size / 1e9 / median(times):.2f} GB/s" for times in (ours, raw))
    asked = "at least 0.9" if varies <= 0.2 else f"nothing: MPI's own vary by {varies:.0%}"
    return f"{what} of {size >> 20} MiB, speed beside MPI's", f"{ratio:.2f} ({speeds})", asked


def beside(mpi: Mpi, program: Path, runs: int, mib: int) -> list[Row]:
    """Return rows of the job that has MPI's own messages."""
    found = job(mpi, 2, 2, program, "beside", mib, runs)
    figure = {name: values[0] for name, values in found.items()}
    ways = f"{figure['region-out']:.0f} out, {figure['region-back']:.0f} back"
    most = f"{figure['region-out-most']:.0f} and {figure['region-back-most']:.0f}"
    memory = f"{figure['memory-out-most']:.0f} out, {figure['memory-back-most']:.0f} back"
    times = f"{figure['region'] * 1e6:.2f} µs, {figure['pingpong'] * 1e6:.2f} µs"
    return [
        ("messages of a region of 64 bytes", f"{ways}; at most {most}", "1 out, 1 back"),
        ("messages of an allocation and its release, at most", memory, "0"),
        ("a region of 64 bytes, and MPI's own ping-pong", times, ""),
        ("processor's time to issue a region", f"{figure['issue'] * 1e6:.2f} µs", "at most 1 µs"),
        ("… of that, in the plugin's calls", f"{figure['plugin'] * 1e6:.2f} µs", ""),
        copies(found["raw"], found["out"], "a copy to the device", mib << 20),
        copies(found["raw"], found["back"], "a copy from the device", mib << 20),
    ]


def held(mpi: Mpi, program: Path, runs: int, _mib: int) -> list[Row]:
    """Return rows of round trips."""
    one, all_of_them = (
        {
            name: values[0]
            for name, values in job(
                mpi, 1, workers, program, "held", 2 * HOLD, runs, hold=HOLD
            ).items()
        }
        for workers in (1, RANKS)
    )
    asked = "at most 1.1"
    return [
        ("round trips of a region", f"{one['one']:.2f}", asked),
        ("… of 1,000 operations of a construct", f"{one['operations']:.2f}", asked),
        ("… of 1,000 asynchronous calls", f"{one['calls']:.2f}", ""),
        ("… of a chain of 10 regions, by the asynchronous calls", f"{one['chain']:.2f}", ""),
        (f"… of a region on each of {RANKS} devices", f"{all_of_them['each']:.2f}", asked),
    ]


def naps(mpi: Mpi, program: Path, runs: int, _mib: int) -> list[Row]:
    """Return a row: how much of the time kernels run."""
    rows = []
    for workers in (1, RANKS):
        found = job(mpi, 1, workers, program, "naps", NAP, runs)
        part = f"{found['best'][0]:.0%}, {median(found['naps']):.0%} in the median"
        what = f"efficiency of {workers} ranks, kernels of {NAP} ms"
        rows.append((what, part, "at least 90 %"))
    return rows


def main() -> None:
    """Compile, measure, print a table for each MPI."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--mpi", action="append", choices=sorted(KNOWN))
    parser.add_argument("--part", action="append", choices=PARTS)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--mib", type=int, default=1024)
    options = parser.parse_args()
    measure = {"beside": beside, "held": held, "naps": naps}
    for name in options.mpi or KNOWN:
        if not shutil.which(KNOWN[name].launcher[0]):
            print(f"{KNOWN[name].launcher[0]} is not here: apt-get install openmpi-bin mpich")
            continue
        with tempfile.TemporaryDirectory() as folder:
            program = build(KNOWN[name], Path(folder))
            rows = [
                row
                for part in options.part or PARTS
                for row in measure[part](KNOWN[name], program, options.runs, options.mib)
            ]
        print(f"\n{name}: {subprocess_version(KNOWN[name])}\n")
        print(tabulate(rows, ("what", "reached", "asked for"), tablefmt="github"))


def subprocess_version(mpi: Mpi) -> str:
    """Return the launcher's version line."""
    done = subprocess.run(
        [mpi.launcher[0], "--version"], stdout=subprocess.PIPE, text=True, check=True
    )
    return " ".join(done.stdout.split()[:4])


if __name__ == "__main__":
    main()
