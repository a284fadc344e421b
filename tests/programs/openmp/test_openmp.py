# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs here, compiled by clang with OpenMP, on the bundled runtime's device."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import mpis
import pytest
import running
from builds import Build, built, each
from clangs import CLANG, FLAGS, compiled, made, run
from documents import dumped_files
from fixture_programs import call
from linking import FAST_LINKER, OWN_LINKER
from outcomes import Programs
from toolchain import omptool
from whole_programs import SOUND, SOURCES, cases, expected, source

from omptool.installation import libdir

pytestmark = pytest.mark.offloads

LINKED = SOURCES / "linked"


@pytest.mark.parametrize(("program", "build"), cases(SOUND))
def test_it_runs_on_the_device(
    programs: Programs, program: Path, build: Build, way: Mapping[str, str]
) -> None:
    outcome = programs.outcome(build, program)
    assert outcome == expected(program, has_workers=mpis.VARIABLE in way)


@pytest.mark.parametrize("flags", [["-no-pie"], ["-flto", FAST_LINKER], ["-g"], ["-Wl,-s"]])
def test_however_it_is_linked(tmp_path: Path, flags: list[str]) -> None:
    done = run(compiled(source("structs"), tmp_path, OWN_LINKER, *flags))
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")


@pytest.mark.parametrize("name", ["interop", "mapping"])
def test_it_runs_without_omptool_run(tmp_path: Path, name: str) -> None:
    environment = os.environ | {"LD_LIBRARY_PATH": str(libdir()), "OMP_TARGET_OFFLOAD": "MANDATORY"}
    program = [str(compiled(source(name), tmp_path))]
    done = subprocess.run(program, capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")


def test_two_sonames_in_one_process_are_one_runtime(tmp_path: Path) -> None:
    """Each library needs another libomptarget, but objects of one are present for the other."""
    clang = (CLANG[".c"], *FLAGS, "-shared", "-fPIC")
    made(tmp_path / "libmap.so", *clang, LINKED / "maps.c")
    old = libdir() / "libomptarget.so.16"
    find = (LINKED / "finds.c", "-Wl,--no-as-needed", old)
    call("gcc", "-shared", "-fPIC", *find, "-o", tmp_path / "libfind.so")
    libraries = (tmp_path / "libmap.so", tmp_path / "libfind.so")
    linked = (f"-L{libdir()}", "-lomptarget", "-Wl,--allow-shlib-undefined")
    call("gcc", LINKED / "maps_and_finds.c", *libraries, *linked, "-o", tmp_path / "main")
    needed = subprocess.run(
        ["readelf", "-d", *libraries], capture_output=True, text=True, check=True
    ).stdout
    assert "[libomptarget.so.16]" in needed
    assert "[libomptarget.so.19.1]" in needed
    done = run(tmp_path / "main", LD_LIBRARY_PATH=str(tmp_path))
    assert (done.stdout, done.stderr) == ("01\n", "")


@pytest.mark.parametrize("build", each(turn=1))
def test_what_a_region_names_is_the_device_s_whatever_the_program_exports(
    tmp_path: Path, build: Build
) -> None:
    """Images of clang 14 and 16 leave the linker the choice; libraries export all of theirs."""
    done = run(built(build, tmp_path / "main", LINKED / "linked_variable.c", "-rdynamic"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "1 60 99\n", "")


@pytest.mark.parametrize("version", ["22", "23"])
def test_virtual_tables_are_the_devices(
    tmp_path: Path, version: str, way: Mapping[str, str]
) -> None:
    """Check that a virtual table of a host's object is mapped to the image's, since clang 22.

    Clang 22's code for a CPU still reads the host's table, which a worker does not have.
    """
    build, program = Build(version), tmp_path / "main"
    built(build, program, LINKED / "virtual.cpp", "-Wno-openmp-mapping")
    done = run(program)
    if version == "22" and mpis.VARIABLE in way:
        assert done.returncode < 0
        assert re.search(r"a kernel uses the host's address of \w+_ZTV\w+Square\w+;", done.stderr)
        return
    assert (done.returncode, done.stdout, done.stderr) == (0, "49 4 1\n", "")
    (file,) = dumped_files(program)
    tables = [entry for entry in file["entries"] if "_ZTV" in entry["name"]]
    assert [(e["kind"], e["flags"], e["images"]) for e in tables] == [
        ("indirect", 0x20, ["present"])
    ] * 2
    assert [entry["size"] for entry in tables] == [32, 32]
    assert omptool("verify", "--ignore", "OMP116", program).exit_code == 0


def test_virtual_calls_of_what_link_has_linked_find_the_devices_tables(tmp_path: Path) -> None:
    source = LINKED / "virtual.cpp"
    program = built(Build("23", "link"), tmp_path / "main", source, "-Wno-openmp-mapping")
    done = run(program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "49 4 1\n", "")


@pytest.mark.parametrize("build", each(turn=2))
def test_tasks_may_take_part_in_a_reduction(tmp_path: Path, build: Build) -> None:
    done = run(built(build, tmp_path / "main", LINKED / "task_reduction.c"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "45\n", "")


def test_a_library_is_loaded_unloaded_and_loaded_again(tmp_path: Path) -> None:
    library = tmp_path / "library.so"
    made(library, CLANG[".c"], *FLAGS, "-shared", "-fPIC", LINKED / "counts.c")
    made(tmp_path / "main", CLANG[".c"], *FLAGS, LINKED / "opens_thrice.c")
    done = running.run(tmp_path / "main", library, **running.MANDATORY)
    assert (done.stdout, done.stderr) == ("12 12 12 ", "")


@pytest.mark.parametrize("before", ["libfirst.so", "libsecond.so"])
def test_libomp_may_come_with_a_library_that_is_opened(tmp_path: Path, before: str) -> None:
    """Other libraries do not see this libomp. Its default device is the host; copies wait."""
    shared = ("-shared", "-fPIC")
    runtime = (f"-L{libdir()}", "-lomptarget")
    call("gcc", LINKED / "default_device.c", *shared, "-o", tmp_path / "libfirst.so", *runtime)
    made(tmp_path / "libsecond.so", CLANG[".c"], *FLAGS, LINKED / "with_libomp.c", *shared)
    opens = (f'-DBEFORE="{before}"', LINKED / "opens_two.c")
    call("gcc", *opens, "-o", tmp_path / "main")
    done = run(tmp_path / "main", LD_LIBRARY_PATH=f"{tmp_path}:{libdir()}")
    assert (done.stdout, done.stderr) == ("0 75\n", "")


def test_tasks_that_nobody_waits_for_do_no_harm(tmp_path: Path) -> None:
    """Libomp runs them when it ends, after the program's images are gone."""
    made(tmp_path / "main", CLANG[".c"], *FLAGS, LINKED / "not_waited_for.c")
    assert run(tmp_path / "main").returncode == 0


@pytest.mark.parametrize("policy", ["DEFAULT", "DISABLED"])
def test_without_a_device_it_runs_on_the_host(tmp_path: Path, policy: str) -> None:
    program = compiled(source("updates"), tmp_path)
    done = running.run(program, OMP_TARGET_OFFLOAD=policy, OMPTOOL_PLUGINS="none")
    assert "Abort" not in done.stderr
    assert done.returncode in (0, 1)  # on one memory an update changes nothing
    if policy == "DEFAULT":
        assert "runs on the host: there is no device" in done.stderr
    else:
        assert done.stderr == ""
