# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The shape in which each clang's programs launch kernels, as a plugin receives it."""

from __future__ import annotations

from pathlib import Path

import pytest
from builds import Build, built, each
from fixture_programs import call
from places import TESTS
from running import MANDATORY, run
from whole_programs import SOURCES

from omptool.installation import includedir, libdir

pytestmark = pytest.mark.offloads

SOURCE = SOURCES / "linked" / "shapes.c"
PLUGIN = TESTS / "support" / "sources" / "shapes_plugin.c"
FLAGS = ("-std=c99", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide the folder of a plugin that prints the shapes."""
    into = tmp_path_factory.mktemp("shapes")
    host = f'-DHOST_PLUGIN="{libdir() / "libomptarget.rtl.host.so"}"'
    plugin = into / "libomptarget.rtl.shapes.so"
    call("cc", *FLAGS, host, f"-I{includedir()}", PLUGIN, "-ldl", "-o", plugin)
    return into


def ran(program: Path, **environment: str) -> tuple[str, list[str]]:
    done = run(program, **MANDATORY, **{"KMP_WARNINGS": "0"} | environment)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr.splitlines()


# Teams, threads and iterations of the constructs, in order.
SHAPES = [
    ("1 1 1", "0 1 1", 0),
    ("4 1 1", "8 1 1", 0),
    ("3 1 1", "16 1 1", 1000),
    ("1 1 1", "5 1 1", 0),
    ("0 1 1", "0 1 1", 500),
    ("2 1 1", "0 1 1", 10),
]


@pytest.mark.parametrize("build", each(turn=2))
def test_a_plugin_is_told_what_clang_passes(build: Build, folder: Path, tmp_path: Path) -> None:
    flags = () if build.version == "14" else ("-DDYNAMIC_MEMORY",)
    program = built(build, tmp_path / "main", SOURCE, *flags)
    stdout, stderr = ran(program, OMPTOOL_PLUGIN_PATH=str(folder), OMPTOOL_PLUGINS="shapes")
    expected = [
        f"teams {teams} threads {threads} trip {trip} memory 0" for teams, threads, trip in SHAPES
    ]
    if flags:
        expected.append("teams 2 1 1 threads 1 1 1 trip 10 memory 128")
    assert stderr == expected
    assert ran(program) == (
        stdout,
        [],
    )  # on the CPU device, whose kernels make their teams themselves
