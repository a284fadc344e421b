# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Offloading programs in their process: they fork, exit, unload, call late, and cannot write files.

Further tests of the same, on the runtime alone, are in runtime/tests: process_test.cpp,
thread_test.cpp, stress_test.cpp, registry_test.cpp.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from builds import some_clangs
from clangs import CLANG, FLAGS, INSTALLED, compiled, compiled_by, libraries, made
from fixture_programs import X86_64, call
from linking import FAST_LINKER, OWN_LINKER
from machine import lacks, moved, with_tmp
from places import ROOT

from omptool.installation import libdir

pytestmark = pytest.mark.offloads

SOURCES = ROOT / "tests" / "programs" / "faults"
KERNEL = re.compile(rb"__omp_offloading_[0-9a-f]+_[0-9a-f]+_first_l\d+")
SUM = "6030303\n"  # sum that regions.c prints on any device
ENTRY = 32  # bytes, of clang 14 to 19


def built(name: str, into: Path, version: str = INSTALLED) -> Path:
    source = SOURCES / f"{name}.c"
    return compiled(source, into) if version == INSTALLED else compiled_by(version, source, into)


def run(*command: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Start a program without `omptool run`: the test is about the program's own process."""
    return subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=os.environ | {"LD_LIBRARY_PATH": str(libdir())} | environment,
    )


# ---- the end of the process ----


def test_a_process_ends_while_libomp_starts_threads(tmp_path: Path) -> None:
    """Teams reserve threads of libomp's that a region without a parallel construct never wakes."""
    library = tmp_path / "liblate.so"
    call("gcc", "-O1", "-shared", "-fPIC", SOURCES / "late_threads.c", "-o", library)
    named = ("-Wl,--no-as-needed", f"-L{libraries(INSTALLED)}", "-lomp", "-lomptarget", library)
    program = made(tmp_path / "app", CLANG[".c"], *FLAGS, SOURCES / "ends_at_once.c", *named)
    done = run(program, OMP_NUM_THREADS="4")
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")


# ---- decision 21 ----


@pytest.mark.parametrize("version", some_clangs(0))
def test_the_child_of_a_fork_runs_on_the_host(tmp_path: Path, version: str) -> None:
    done = run(built("forks", tmp_path, version))
    assert (done.returncode, done.stdout) == (0, "ok\n")
    (line,) = done.stderr.splitlines()
    assert line.endswith("runs on the host: the process has forked since it registered its images")


def test_the_child_of_a_fork_ends_where_offloading_is_mandatory(tmp_path: Path) -> None:
    done = run(built("forks", tmp_path), OMP_TARGET_OFFLOAD="MANDATORY")
    assert done.stdout == "wrong\n"
    assert "and OMP_TARGET_OFFLOAD is MANDATORY: the process has forked" in done.stderr


@pytest.mark.parametrize("version", some_clangs(1))
def test_a_program_exits_while_its_threads_launch(tmp_path: Path, version: str) -> None:
    program = built("exits", tmp_path, version)
    for _ in range(20):
        done = run(program, OMPTOOL_QUIET="1")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("version", some_clangs(2))
@pytest.mark.parametrize("policy", ["DEFAULT", "MANDATORY"])
def test_calls_after_the_images_are_gone(tmp_path: Path, version: str, policy: str) -> None:
    done = run(built("late", tmp_path, version), OMP_TARGET_OFFLOAD=policy)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("version", some_clangs(3))
def test_a_library_is_closed_in_a_destructor(tmp_path: Path, version: str) -> None:
    library = tmp_path / "libcounting.so"
    flags = ("-fopenmp", f"-fopenmp-targets={X86_64}", FAST_LINKER, "-shared", "-fPIC")
    made(library, "clang-19", *flags, SOURCES / "counting.c")
    done = run(built("unloads", tmp_path, version), library, OMP_TARGET_OFFLOAD="MANDATORY")
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")


def reloaded(into: Path, libraries: int, loads: int) -> subprocess.CompletedProcess[str]:
    """Load and unload so many libraries beside threads that map memory for the first time."""
    flags = ("-shared", "-fPIC")
    paths = [into / f"libcounting{number}.so" for number in range(libraries)]
    for path in paths:
        made(path, CLANG[".c"], *FLAGS, *flags, SOURCES / "counting.c")
    program = made(into / "reloads", CLANG[".c"], *FLAGS, SOURCES / "reloads.c", "-pthread")
    return run(program, loads, *paths, OMP_TARGET_OFFLOAD="MANDATORY")


@pytest.mark.parametrize("libraries", [1, 2])
def test_libraries_are_unloaded_beside_new_threads(tmp_path: Path, libraries: int) -> None:
    """dlclose() holds the dynamic linker's lock, and waits for locks of the runtime."""
    done = reloaded(tmp_path, libraries, 1000)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")


@pytest.mark.exhaustive
@pytest.mark.parametrize("libraries", [1, 2])
def test_libraries_are_unloaded_beside_new_threads_for_long(tmp_path: Path, libraries: int) -> None:
    done = reloaded(tmp_path, libraries, 10000)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")


def test_a_setgid_program_ignores_our_variables(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        lacks("only root can give a program another group and make it setgid")
    program = tmp_path / "regions"
    flags = ("-fopenmp", f"-fopenmp-targets={X86_64}", FAST_LINKER, f"-Wl,-rpath,{libdir()}")
    made(program, "clang-19", *flags, SOURCES / "regions.c")
    ours = {"OMPTOOL_PLUGINS": "nosuch", "OMP_TARGET_OFFLOAD": "MANDATORY"}
    assert run(program, **ours).returncode == -6
    os.chown(program, 0, 65534)
    program.chmod(0o2755)
    done = run(program, **ours)
    assert (done.returncode, done.stdout, done.stderr) == (0, SUM, "")


def test_every_variable_of_ours_is_read_where_setuid_programs_have_none() -> None:
    """process_test.cpp runs such a program; this finds variables that it does not know.

    Plugins of GPUs read theirs if there is a driver, and MPI's plugin if it is requested.
    """
    read = re.compile(r'(\w*getenv|own_setting)\("((?:OMPTOOL|LIBOMPTARGET)_\w+)"')
    not_here = ("cuda", "gpu", "liboffload", "opencl", "mpi")
    found = {
        (function, name, path.relative_to(folder).parts[0] in not_here)
        for folder in (ROOT / "runtime" / "libomptarget", ROOT / "runtime" / "plugins")
        for path in folder.rglob("*.cpp")
        for function, name in read.findall(path.read_text())
    }
    assert {function for function, *_ in found} == {
        "secure_getenv",
        "own_setting",
    }  # by which the environment is read
    tested = (ROOT / "runtime" / "tests" / "process" / "process_test.cpp").read_text()
    ours = sorted(name for _, name, is_elsewhere in found if not is_elsewhere)
    assert [name for name in ours if f'"{name}=' not in tested] == []


# ---- no files ----


@pytest.mark.parametrize("version", some_clangs(4))
def test_no_file_is_left(tmp_path: Path, version: str) -> None:
    program = built("regions", tmp_path, version)
    folder = tmp_path / "temporary"
    folder.mkdir()
    inside = with_tmp("size=64m")  # others write to the real one
    script = 'TMPDIR=$2 "$1" && ls -A /tmp && ls -A "$2"'
    done = run(*inside, "sh", "-c", script, "sh", moved(program), moved(folder),
               LD_LIBRARY_PATH=str(moved(libdir())), OMP_TARGET_OFFLOAD="MANDATORY")  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, SUM, "")


def test_nothing_needs_to_be_written(tmp_path: Path) -> None:
    """/tmp is read-only and empty; the program and its runtime are elsewhere."""
    program = built("regions", tmp_path)
    inside = with_tmp("ro")
    assert run(*inside, "touch", "/tmp/x").returncode != 0
    done = run(*inside, moved(program),
               LD_LIBRARY_PATH=str(moved(libdir())), OMP_TARGET_OFFLOAD="MANDATORY")  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, SUM, "")


# ---- what does not run on the device, and why ----


@pytest.fixture
def lacking(tmp_path: Path) -> Path:
    """Provide regions.c with a kernel renamed in its device image."""
    program = compiled(SOURCES / "regions.c", tmp_path, OWN_LINKER)  # which puts the image last
    data = bytearray(program.read_bytes())
    image = data.index(b"\x7fELF", 4)
    for match in KERNEL.finditer(bytes(data), image):
        data[match.start() : match.end()] = match[0].replace(b"_first_l", b"_fxrst_l")
    program.write_bytes(data)
    return program


def test_a_region_that_falls_back_says_so_once(lacking: Path) -> None:
    done = run(lacking)
    assert (done.returncode, done.stdout) == (0, SUM)
    line, *repeated = done.stderr.splitlines()
    assert re.fullmatch(
        r"omptarget: region first:\d+ runs on the host: "
        r"the image for device 0 \(host\) lacks it",
        line,
    )
    region = line.removeprefix("omptarget: ")
    assert [re.sub(r"\d+ times?", "N times", one) for one in repeated] == [
        f"omptarget: repeated N times: {region}"
    ]


def test_it_does_not_say_so_when_it_must_be_quiet(lacking: Path) -> None:
    done = run(lacking, OMPTOOL_QUIET="1")
    assert (done.returncode, done.stdout, done.stderr) == (0, SUM, "")


def test_it_ends_with_the_reason_where_offloading_is_mandatory(lacking: Path) -> None:
    done = run(lacking, OMP_TARGET_OFFLOAD="MANDATORY", OMPTOOL_QUIET="1")
    assert (done.returncode, done.stdout) == (-6, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("omptarget fatal error: region first:")
    assert line.endswith("MANDATORY: the image for device 0 (host) lacks it")


# ---- pairing ----


def test_the_order_of_entries_does_not_matter(tmp_path: Path) -> None:
    """The runtime of LLVM 14 would run each kernel for the other."""
    program = tmp_path / "regions"
    source = SOURCES / "regions.c"
    made(
        program,
        "clang-19",
        "-fopenmp",
        f"-fopenmp-targets={X86_64}",
        FAST_LINKER,
        "-no-pie",
        source,
    )
    data = bytearray(program.read_bytes())
    headers = subprocess.check_output(["readelf", "-SW", program], text=True)
    found = re.search(r"omp_offloading_entries +PROGBITS +\w+ (\w+) (\w+)", headers)
    assert found
    offset, size = (int(number, 16) for number in found.groups())
    assert size == 2 * ENTRY
    first, second = data[offset : offset + ENTRY], data[offset + ENTRY : offset + size]
    data[offset : offset + size] = second + first
    program.write_bytes(data)
    done = run(program, OMP_TARGET_OFFLOAD="MANDATORY")
    assert (done.returncode, done.stdout, done.stderr) == (0, SUM, "")
