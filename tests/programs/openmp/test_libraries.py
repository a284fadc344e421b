# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Several offloading libraries in one process, by different clangs, loaded and unloaded."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import mpis
import pytest
from builds import some_clangs
from clangs import EVERY, INSTALLED, compiler, made
from fixture_programs import OMPTOOL, call
from running import MANDATORY, run
from whole_programs import SOURCES

pytestmark = pytest.mark.offloads

LIBRARIES = SOURCES / "libraries"


def library(version: str, source: Path, output: Path, *flags: str) -> Path:
    made(output, *compiler(version, source), "-shared", "-fPIC", *flags, source)
    return output


def ran(*command: Path, **environment: str) -> str:
    """Return the output of programs on the device; check that no line reports a fallback."""
    done = run(*command, **MANDATORY | environment)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize(
    ("main", "parts"), [("23", ("14", "16")), ("14", ("22", "19")), ("19", ("16", "23", "14"))]
)
def test_one_process_holds_what_different_clangs_made(
    tmp_path: Path, main: str, parts: tuple[str, ...]
) -> None:
    """Libraries share a mapping table: each finds the objects that the program maps."""
    libraries = []
    for step, by in enumerate(parts, start=1):
        defines = (f"-DNAME=part{by}", f"-DSTEP={step}")
        # Kernels are named after their file, so each gets a file of its own.
        source = Path(shutil.copy(LIBRARIES / "part.c", tmp_path / f"part{by}.c"))
        libraries.append(library(by, source, tmp_path / f"libpart{by}.so", *defines))
    program = LIBRARIES / "all_parts.c"
    calls = "".join(f"P(part{by})" for by in parts)
    linked = ("-Wl,--allow-shlib-undefined", *libraries)
    call(*compiler(main, program), f"-DPARTS={calls}", program, *linked, "-o", tmp_path / "main")
    total = sum(1 + step for step in range(1, len(parts) + 1))
    wanted = f"1 {1 + total} {2 * (4 + total)}\n"
    assert ran(tmp_path / "main", LD_LIBRARY_PATH=str(tmp_path)) == wanted


@pytest.mark.parametrize("version", some_clangs(0, EVERY))
def test_kernels_of_one_name_are_two(tmp_path: Path, version: str) -> None:
    """One file compiled twice: its kernels have one name, from its inode and line."""
    source = LIBRARIES / "part.c"
    libraries = [
        library(version, source, tmp_path / f"lib{name}.so", f"-DNAME={name}", f"-DSTEP={step}")
        for name, step in {"one": 1, "two": 20}.items()
    ]
    linked = (f"-L{tmp_path}", "-lone", "-ltwo", "-Wl,--allow-shlib-undefined")
    call("gcc", LIBRARIES / "two_parts.c", *linked, "-o", tmp_path / "main")
    assert len({kernel for path in libraries for kernel in kernels(path)}) == 1
    assert ran(tmp_path / "main", LD_LIBRARY_PATH=str(tmp_path)) == "2 23 26\n"


def kernels(path: Path) -> set[str]:
    """Return the names of the kernels that `path` has entries for."""
    dump = subprocess.run(
        [OMPTOOL, "dump", "--wide", path], capture_output=True, text=True, check=True
    )
    words = dump.stdout.split()
    return {word for word in words if word.startswith("__omp_offloading_") and "_l" in word}


@pytest.mark.parametrize("policy", ["DEFAULT", "MANDATORY"])
def test_a_variable_that_the_device_lacks_is_an_error(tmp_path: Path, policy: str) -> None:
    """LLVM's runtime reports it and runs the region."""
    source = LIBRARIES / "lost.c"
    clang = compiler(INSTALLED, source)
    made(tmp_path / "main", *clang, "-Xarch_device", "-DDEVICE", source)
    done = run(tmp_path / "main", OMP_TARGET_OFFLOAD=policy)
    assert "lost" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    if policy == "MANDATORY":
        assert (done.returncode, done.stdout) == (-6, "")
    else:
        assert (done.returncode, done.stdout) == (0, "4\n")


@pytest.mark.parametrize("version", some_clangs(1, EVERY))
def test_objects_of_a_library_live_on_the_device_as_long_as_it_is_loaded(
    tmp_path: Path, version: str, way: Mapping[str, str]
) -> None:
    """Constructors in their order before a region, destructors backwards when it is unloaded."""
    source, program = LIBRARIES / "objects.cpp", LIBRARIES / "loading.c"
    built = library(version, source, tmp_path / "libobjects.so")
    made(tmp_path / "main", *compiler(version, program), program)
    words = ran(tmp_path / "main", built).split()
    if mpis.VARIABLE in way:  # the launcher puts what processes say in its own order
        of_worker = [word for word in words if word in ("13", "24")]
        words = [word for word in words if word not in of_worker]
        assert of_worker == 2 * ["24", "13"]
        words[1:1] = words[6:6] = of_worker[:2]
    assert words[-1] == "end"
    for half in (words[:5], words[5:-1]):
        assert half[0] == "1324"
        # The host's copies are destroyed as well, and unchanged.
        assert sorted(half[1:]) == ["13", "24", "3", "4"]
        assert half.index("24") < half.index("13")


@pytest.mark.parametrize("version", some_clangs(2, EVERY))
def test_objects_of_a_program_live_until_it_ends(tmp_path: Path, version: str) -> None:
    source = LIBRARIES / "objects_main.cpp"
    made(tmp_path / "main", *compiler(version, source), source)
    words = ran(tmp_path / "main").split()
    assert words[0] == "1324"
    assert sorted(words[1:]) == ["13", "24", "3", "4"]
