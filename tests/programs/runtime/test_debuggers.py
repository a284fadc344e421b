# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels in gdb, perf and valgrind: they end, and name the kernel and its line."""

from __future__ import annotations

import ctypes
import os
import re
import resource
import shutil
import struct
import subprocess
import time
from pathlib import Path

import pytest
from clangs import compiled
from fixture_programs import OMPTOOL
from machine import lacks, moved, with_tmp
from places import TESTS
from running import on_the_runtime

pytestmark = [pytest.mark.slow, pytest.mark.offloads]

SOURCE = TESTS / "programs" / "runtime" / "crunches.c"
HERE, THERE = (
    next(n for n, line in enumerate(SOURCE.read_text().splitlines(), 1) if word in line)
    for word in ("// here", "// there")
)
FOR_EVER = "1000000000000"
PERF_EVENT_OPEN = 298  # the system call of x86-64
PATIENCE = 60
# A kernel's function in an image, not in the host's own copy of the region.
IN_IMAGE = re.compile(r"__omp_offloading_.* in section \.text of /proc/\d+/fd/")
# gdb may block in a read that no other signal interrupts.
KILLED = ("/usr/bin/timeout", "--signal=KILL", str(PATIENCE))


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(SOURCE, tmp_path_factory.mktemp("debuggers"), "-g", "-O1", "-fno-inline")


def tool(name: str, package: str = "") -> str:
    found = shutil.which(name)
    return found or lacks(f"{name} is not here: apt-get install {package or name}")


def output(*command: object, stdin: str = "", **environment: str) -> str:
    words = [*KILLED, *map(str, command)]
    done = subprocess.run(
        words,
        input=stdin,
        env=os.environ | {"OMP_TARGET_OFFLOAD": "MANDATORY"} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout


def test_a_program_ends_in_gdb(program: Path) -> None:
    environment = on_the_runtime(program, {})
    settings = [f"--init-eval-command=set environment {n} {v}" for n, v in environment.items()]
    said = output(tool("gdb"), "-batch", *settings, "-ex", "run", "--args", program, 10)
    assert "45\n" in said
    assert "exited normally" in said


def test_a_breakpoint_in_a_kernel(program: Path) -> None:
    tool("gdb")
    script = f"break {SOURCE.name}:{HERE}\nrun\ninfo symbol $pc\ndelete\ncontinue\n"
    said = output(OMPTOOL, "run", "--gdb", program, 10, stdin=script)
    stopped = said.partition("Starting program")[2]
    assert f"{SOURCE.name}:{HERE}" in stopped
    assert "// here" in stopped
    assert IN_IMAGE.search(stopped)
    assert "45\n" in stopped


def test_gdb_gets_the_words_of_a_program_as_they_are(tmp_path: Path, program: Path) -> None:
    tool("gdb")
    place = tmp_path / "a folder"
    place.mkdir()
    moved = shutil.copy(program, place)
    said = output(OMPTOOL, "run", "--gdb", moved, "7 $HOME", stdin="run\n")
    assert "21\n" in said


def test_gdb_on_a_script_is_one_line(tmp_path: Path) -> None:
    tool("gdb")
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    said = output(OMPTOOL, "run", "--gdb", script)
    assert said == f"Error: {script}: is a script; gdb needs its interpreter in front of it\n"


def test_gdb_that_is_not_here_is_one_line(program: Path) -> None:
    said = output(OMPTOOL, "run", "--gdb", program, PATH="/nowhere")
    assert said == "Error: gdb is not on PATH: apt-get install gdb\n"


def test_gdb_on_a_process_that_runs(program: Path) -> None:
    environment = on_the_runtime(program, os.environ)
    gdb = tool("gdb")
    with subprocess.Popen([program, FOR_EVER], env=environment) as process:
        deadline = time.monotonic() + PATIENCE
        said = ""
        while not IN_IMAGE.search(said) and time.monotonic() < deadline:
            asked = ("thread apply all backtrace 1", "thread apply all info symbol $pc")
            said = output(gdb, "-batch", "-p", process.pid, *(w for a in asked for w in ("-ex", a)))
        process.kill()
    assert IN_IMAGE.search(said)
    assert re.search(rf"__omp_offloading_\S+ .*{SOURCE.name}:\d", said, re.DOTALL)


def test_a_core_file_of_a_kernel(tmp_path: Path, program: Path) -> None:
    """The copy that OMPTOOL_KEEP_IMAGES leaves is the file that the core names."""
    gdb = tool("gdb")
    if Path("/proc/sys/kernel/core_pattern").read_text().strip() != "core":
        lacks("cores of this machine go elsewhere than into the folder of the program")
    (tmp_path / "kept").mkdir(mode=0o700)
    environment = on_the_runtime(program, os.environ | {"OMPTOOL_KEEP_IMAGES": "kept"})
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
    try:
        subprocess.run(
            [program, "-1"], cwd=tmp_path, env=environment, check=False, capture_output=True
        )
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))
    (core,) = tmp_path.glob("core*")
    said = output(gdb, "-batch", program, core, "-ex", "thread apply all backtrace")
    assert f"{SOURCE.name}:{THERE}" in said
    assert "// there" in said


def refusal_to_count() -> str:
    """Return the kernel's error when this process counts its own time; "" if the kernel allows it.

    perf_event_open(2) gets CPU_CLOCK of PERF_TYPE_SOFTWARE, without kernel and hypervisor.
    """
    attributes = struct.pack("<IIQQQQQQQ", 1, 64, 0, 1_000_000, 0, 0, 1 << 5 | 1 << 6, 0, 0)
    libc = ctypes.CDLL(None, use_errno=True)
    counter = libc.syscall(PERF_EVENT_OPEN, attributes, 0, -1, -1, 0)
    if counter < 0:
        return os.strerror(ctypes.get_errno())
    os.close(counter)
    return ""


def test_perf_names_kernels(tmp_path: Path, program: Path) -> None:
    perf, counts = tool("perf", "linux-perf"), tmp_path / "counts"
    if refusal := refusal_to_count():  # as in containers: in CI, too, where perf itself must be
        limit = Path("/proc/sys/kernel/perf_event_paranoid")
        level = limit.read_text().strip() if limit.exists() else "missing"
        pytest.skip(f"the kernel refuses perf_event_open: {refusal} ({limit} is {level})")
    record = (perf, "record", "-N", "-e", "cpu-clock", "-F", "999", "-o", counts)
    assert "Captured" in output(*record, "true")
    (tmp_path / "kept").mkdir(mode=0o700)
    kept = {"OMPTOOL_KEEP_IMAGES": str(tmp_path / "kept")}
    said = output(OMPTOOL, "run", *record, program, 100_000_000, **kept)
    assert said.startswith("4999999950000000\n")
    assert re.search(r" omptool-\S+ +\[\.] (next|__omp_)", output(perf, "report", "-i", counts))


def test_valgrind_names_kernels(tmp_path: Path, program: Path) -> None:
    valgrind = tool("valgrind")
    (tmp_path / "kept").mkdir(mode=0o700)
    environment = on_the_runtime(program, {"OMPTOOL_KEEP_IMAGES": str(tmp_path / "kept")})
    counts = tmp_path / "counts"
    said = output(
        valgrind,
        "--tool=callgrind",
        f"--callgrind-out-file={counts}",
        "--trace-children=yes",
        program,
        10,
        **environment,
    )
    assert "45\n" in said
    assert "__omp_offloading_" in counts.read_text()
    assert str(tmp_path / "kept" / "omptool-") in counts.read_text()


def test_a_kept_image_that_cannot_be_loaded_there(program: Path) -> None:
    environment = on_the_runtime(program, {"OMPTOOL_KEEP_IMAGES": "/tmp/kept"})
    for name in ("LD_PRELOAD", "LD_LIBRARY_PATH"):
        paths = (str(moved(Path(path))) for path in environment[name].split(":"))
        environment[name] = ":".join(paths)
    preload = environment.pop("LD_PRELOAD")
    words = ("env", f"LD_PRELOAD={preload}", moved(program), 10)
    made = ("sh", "-c", 'mkdir -m 700 /tmp/kept && exec "$@"', "sh")
    said = output(*with_tmp("noexec"), *made, *words, **environment)
    assert said.splitlines()[-1] == "45"
    assert said.count("\n") == 2
    assert said.startswith("omptarget: the image kept in OMPTOOL_KEEP_IMAGES cannot be used, and ")
