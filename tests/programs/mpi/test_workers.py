# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs on the devices of other ranks of an MPI job."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from builds import Build, built
from clangs import libraries
from fixture_programs import OMPTOOL
from mpis import DEBIAN, EACH, Mpi, job, of_program, with_workers
from toolchain import omptool
from whole_programs import source

from omptool.installation import libdir

pytestmark = [pytest.mark.offloads, pytest.mark.slow]

HERE = Path(__file__).parent
PLUGINS = libdir() / "mpi"
ONLY = {"OMPTOOL_PLUGINS": "mpi", "OMP_TARGET_OFFLOAD": "MANDATORY"}


@pytest.fixture(autouse=True)
def _found_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers find libomp, which images need."""
    monkeypatch.setenv("LD_LIBRARY_PATH", libraries("19"), prepend=os.pathsep)


@EACH
def test_a_program_has_the_devices_of_its_workers(mpi: Mpi, tmp_path: Path) -> None:
    program = built(Build("19"), tmp_path / "main", HERE / "devices.c")
    done = with_workers(mpi, 2, program, OMP_TARGET_OFFLOAD="MANDATORY")
    assert (done.returncode, done.stdout) == (0, "3 devices, 0 wrong\n"), done.stderr
    done = with_workers(mpi, 2, program, **ONLY, OMPTOOL_HOST_DEVICES="2")
    assert (done.returncode, done.stdout) == (0, "4 devices, 0 wrong\n"), done.stderr


@EACH
def test_a_region_is_one_message_out_and_one_back(mpi: Mpi, tmp_path: Path) -> None:
    program = built(Build("19"), tmp_path / "main", HERE / "messages.c")
    plugin = PLUGINS / "libomptarget.rtl.mpi.so"
    done = with_workers(mpi, 1, program, plugin, **ONLY)
    assert (done.returncode, done.stdout) == (0, "100: 1 out, 1 back; memory 0\n"), done.stderr


@EACH
def test_regions_go_to_their_data_or_to_the_idlest_worker(mpi: Mpi, tmp_path: Path) -> None:
    program = built(Build("19"), tmp_path / "main", HERE / "placement.c")
    done = with_workers(mpi, 2, program, **ONLY, OMPTOOL_DEVICE_POLICY="least-loaded")
    assert (done.returncode, done.stdout) == (0, "1 1 and 0 strays\n"), done.stderr
    done = with_workers(mpi, 2, program, **ONLY)
    assert (done.returncode, done.stdout) == (0, "2 0 and 3 strays\n"), done.stderr


@EACH
def test_held_messages_show_round_trips(mpi: Mpi, tmp_path: Path) -> None:
    """Check the round trips of regions on several devices, which share one.

    The upper bound is for a loaded machine: each region lasts so long that other work is a small
    part.
    """
    program = built(Build("19"), tmp_path / "main", HERE / "held.c")
    done = with_workers(mpi, 3, program, **ONLY, OMPTOOL_MPI_HOLD="100")
    assert done.returncode == 0, done.stderr
    assert all(1 <= float(trips) < 1.8 for trips in done.stdout.split()), done.stdout
    done = with_workers(mpi, 1, program, **ONLY, OMPTOOL_MPI_HOLD="soon")
    assert "ignores OMPTOOL_MPI_HOLD=soon; known values: integers from 0 to" in done.stderr


@EACH
def test_kernels_get_the_address_of_their_arguments_there(mpi: Mpi, tmp_path: Path) -> None:
    """Kernels of clang 23 get only this address."""
    program = built(Build("23"), tmp_path / "main", source("mapping"))
    done = with_workers(mpi, 2, program, **ONLY)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")


@EACH
def test_a_program_that_requires_unified_memory_is_refused(mpi: Mpi, tmp_path: Path) -> None:
    program = built(Build("19"), tmp_path / "main", source("unified"))
    done = of_program(with_workers(mpi, 2, program, **ONLY))
    why = (
        "(it requires unified_shared_memory (a worker's kernels do not reach the program's memory))"
    )
    assert done.returncode == -6
    assert "OMP_TARGET_OFFLOAD is MANDATORY" in done.stderr
    assert done.stderr.endswith(f"{why}\n")


@EACH
def test_kernels_print_in_the_output_of_the_job(mpi: Mpi, tmp_path: Path) -> None:
    program = built(Build("19"), tmp_path / "main", HERE / "printing.c")
    done = with_workers(mpi, 1, program, **ONLY)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["from the kernel", "from the program"]
    done = with_workers(mpi, 1, program, **ONLY, OMPTOOL_MPI_PREFIX="1")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["[rank 1] from the kernel", "from the program"]


@EACH
def test_what_a_kernel_prints_has_left_the_worker_when_its_region_ends(
    mpi: Mpi, tmp_path: Path
) -> None:
    program = built(Build("19"), tmp_path / "main", HERE / "unfinished_line.c")
    done = with_workers(mpi, 1, program, tmp_path / "printed", **ONLY)
    assert (done.returncode, (tmp_path / "printed").read_text()) == (0, "half a line"), done.stderr


@EACH
def test_a_program_without_regions_ends_with_its_workers(mpi: Mpi) -> None:
    done = with_workers(mpi, 2, "sh", "-c", "echo it ran")
    assert (done.returncode, done.stdout) == (0, "it ran\n"), done.stderr
    assert with_workers(mpi, 2, "sh", "-c", "exit 3").returncode == 3
    done = with_workers(mpi, 2, "/no/such/program")
    assert (done.returncode, done.stdout) == (127, ""), done.stderr


def user_of(mpi: Mpi, tmp_path: Path, *options: str, source: str = "split.c") -> Path:
    """Build a program that uses MPI, with its own declarations because no header is installed."""
    family = {"libmpi.so.40": ["-DOPEN_MPI"], "libmpi_abi.so.1": ["-DSTANDARD"]}
    flags = (*family.get(mpi.library, []), *options)
    linked = (str(mpi.path), f"-Wl,-rpath,{mpi.path.parent}")
    program = tmp_path / Path(source).stem
    return built(Build("19"), program, HERE / source, *flags, *linked)


@EACH
def test_a_program_that_calls_mpi_on_one_thread_ends_without_workers(
    mpi: Mpi, tmp_path: Path
) -> None:
    """MPI_Finalize is called before the workers have been contacted."""
    if mpi.name == "intel-standard":  # see below
        pytest.skip("this MPI does not tell its processes their program's number")
    program = user_of(mpi, tmp_path, "-DLEVEL=0")
    words = ("-n", 2, OMPTOOL, "run", program, ":", "-n", 2, OMPTOOL, "worker")
    done = job(mpi, *words, OMPTOOL_PLUGINS="mpi", OMPTOOL_PLUGIN_PATH=str(PLUGINS))
    said = "2 processes, 0 regions, 0 on devices\n"
    assert (done.returncode, done.stdout) == (0, said), done.stderr


@EACH
def test_a_program_that_uses_mpi_runs_beside_workers(mpi: Mpi, tmp_path: Path) -> None:
    program = user_of(mpi, tmp_path)
    words = ("-n", 2, OMPTOOL, "run", program, ":", "-n", 4, OMPTOOL, "worker")
    done = job(mpi, *words, **ONLY, OMPTOOL_PLUGIN_PATH=str(PLUGINS))
    if mpi.name == "intel-standard":  # Intel's standard mode lacks the attribute
        assert "this MPI does not tell its processes their program's number" in done.stderr
        return
    said = "2 processes, 4 regions, 4 on devices\n"
    assert (done.returncode, done.stdout) == (0, said), done.stderr
    done = with_workers(mpi, 1, program)
    assert f"{program}: needs {mpi.path.name}, and workers would be in its" in done.stderr
    assert done.returncode == 125


@EACH
def test_a_worker_of_another_version_is_named(mpi: Mpi, tmp_path: Path) -> None:
    """The program has the CPU of its own machine, without the worker: never without a line."""
    program = built(Build("19"), tmp_path / "main", HERE / "printing.c")
    worker = user_of(mpi, tmp_path, source="other_version.c")
    reason = "a worker is of omptool 0.0.9, and this is omptool "
    line = f"plugin mpi was refused: {reason}"

    def run(*words: object, **environment: str) -> subprocess.CompletedProcess[str]:
        return job(mpi, "-n", 1, OMPTOOL, *words, ":", "-n", 1, worker, **environment)

    done = run("run", "--workers", program)
    assert "from the kernel" in done.stdout, done.stderr
    assert done.stderr.count(f"omptarget: {line}") == 1, done.stderr
    for done in (
        run("run", "--workers", "--mandatory", program),
        run("run", "--workers", program, OMP_TARGET_OFFLOAD="MANDATORY"),
    ):
        assert "from the" not in done.stdout, done.stderr
        assert re.search(f"fatal error: region .* is MANDATORY: {line}", done.stderr), done.stderr
    assert reason in run("devices", "--workers").stdout


def test_the_wrong_mpi_is_named(tmp_path: Path) -> None:
    """Under MPICH's launcher, each process of Open MPI is alone in MPI_COMM_WORLD."""
    program = built(Build("19"), tmp_path / "main", HERE / "printing.c")
    openmpi, mpich = DEBIAN
    done = with_workers(mpich, 1, program, OMPTOOL_MPI=str(openmpi.path), OMPTOOL_PLUGINS="mpi")
    assert "MPI's world is this process alone: start it by the launcher of" in done.stderr


def test_outside_a_job_there_are_no_workers() -> None:
    for words, code, said in (
        (("run", "--workers", "true"), 125, "run --workers: this process is in no MPI job"),
        (("doctor", "--workers", "nosuch"), 2, "nosuch: No such file or directory"),
        (("doctor", "--workers", "--run", "nosuch"), 2, "nosuch: not found"),
        (("worker",), 2, "worker: this process is in no MPI job"),
        (("devices", "--workers"), 2, "devices --workers: this process is in no MPI job"),
        (("doctor", "--workers", "/bin/true"), 2, "doctor --workers: this process is in no MPI"),
    ):
        done = omptool(*words)
        assert done.exit_code == code
        assert said in done.stderr
    done = omptool("run", "--workers", "./nosuch")
    assert (done.exit_code, done.stderr) == (127, "Error: ./nosuch: not found\n")
