# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The runtime's messages are those of LLVM 19's runtime about the same program."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from builds import two_clangs
from clangs import CLANG, FLAGS, FULL, compiled, compiler, libraries, made
from fixture_programs import build as build_fixture
from fixture_programs import run as run_fixture
from llvm_runtime import MESSAGES, llvm_libraries, said
from whole_programs import FATAL, source

from omptool.installation import libdir

pytestmark = pytest.mark.offloads

# The program ends in one way, whatever construct breaks the rule.
SOURCE = MESSAGES / "broken.c"
BROKEN = ("DATA", "ENTER", "EXIT", "REGION", "UPDATE", "DEVICE", "EMPTY", "GROWN", "GROWN_REGION")
# First lines that omptool prints and LLVM's runtime does not.
ADDED = {
    name: rf"omptarget: region main:\d+ asks for device {number}: 1 device is available"
    for name, number in (("DEVICE", 99), ("bad_device", 7))
}


def both(program: Path, added: str | None = None, **environment: str) -> tuple[object, object]:
    """Return the program's output on this runtime, after the line `added`, and on LLVM's."""
    llvm = llvm_libraries()
    code, stderr, stdout = said(program, [libdir(), llvm], **environment)
    if added:
        assert re.fullmatch(added, stderr.pop(0))
    return (code, stderr, stdout), said(program, [llvm], **environment)


@pytest.fixture(scope="module")
def constructs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(MESSAGES / "info.c", tmp_path_factory.mktemp("info"), "-g")


@pytest.mark.parametrize("bits", ["1", "2", "4", "8", "16", "32", "64", "-1"])
def test_info_is_what_llvm_tells(constructs: Path, bits: str) -> None:
    ours, llvm = both(constructs, LIBOMPTARGET_INFO=bits)
    assert ours == llvm
    assert "omptarget device 0 info: Entering OpenMP data region" in str(ours)  # the program's flag


def test_info_covers_routines(tmp_path: Path) -> None:
    program = compiled(MESSAGES / "routines.c", tmp_path, "-g")
    ours, llvm = both(program, LIBOMPTARGET_INFO="-1")
    assert ours == llvm


def test_debug_output_is_for_other_builds(constructs: Path) -> None:
    libraries = [libdir(), llvm_libraries()]
    assert said(constructs, libraries, LIBOMPTARGET_DEBUG="1") == said(constructs, libraries)


def test_a_value_that_makes_no_sense_is_named(constructs: Path) -> None:
    _, stderr, _ = said(constructs, [libdir(), llvm_libraries()], LIBOMPTARGET_INFO="all")
    known = "integers from -1 to 4294967295"
    message = f"omptarget: the runtime ignores LIBOMPTARGET_INFO=all; known values: {known}"
    assert stderr[0] == message


@pytest.mark.parametrize("debug", ["-g", "-g0"])
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_rule_ends_the_program_as_on_llvm(tmp_path: Path, name: str, debug: str) -> None:
    out = tmp_path / "main"
    made(out, CLANG[".c"], *FLAGS, "-fopenmp-version=51", debug, f"-D{name}", SOURCE)
    ours, llvm = both(tmp_path / "main", ADDED.get(name))
    assert ours == llvm
    assert "fatal error" in str(ours)


@pytest.mark.parametrize("name", ["DATA", "ENTER"])
def test_with_the_table_of_what_is_mapped_if_the_user_asked_for_it(
    tmp_path: Path, name: str
) -> None:
    out = tmp_path / "main"
    made(out, CLANG[".c"], *FLAGS, "-fopenmp-version=51", "-g", f"-D{name}", SOURCE)
    ours, llvm = both(tmp_path / "main", LIBOMPTARGET_INFO="4")
    assert ours == llvm
    assert "pointer mappings" in str(ours)


@pytest.mark.parametrize("name", FATAL)
def test_so_do_the_programs_that_break_one(tmp_path: Path, name: str) -> None:
    ours, llvm = both(compiled(source(name), tmp_path, "-O1"), ADDED.get(name))
    assert ours == llvm
    assert "fatal error" in str(ours)


@pytest.mark.parametrize(
    ("name", "version"),
    [
        pytest.param(
            name, version, marks=() if version in two_clangs(turn) else pytest.mark.exhaustive
        )
        for turn, name in enumerate(["EMPTY", "GROWN", "GROWN_REGION", "held"])
        for version in FULL
    ],
)
def test_so_do_programs_of_every_clang(tmp_path: Path, name: str, version: str) -> None:
    path, program = MESSAGES / "held.c" if name == "held" else SOURCE, tmp_path / "main"
    made(program, *compiler(version, path), f"-D{name}", path)
    # PyPI's clang 23 runs on 22's library, which calls no kernel of it; Intel's build has other
    # messages.
    llvm = [Path(folder) for folder in libraries(version).split(":")]
    code, stderr, stdout = said(program, llvm)
    stderr = [re.sub("^Libomptarget ", "omptarget ", line) for line in stderr]  # until LLVM 18
    assert said(program, [libdir(), *llvm]) == (code, stderr, stdout)
    assert "error" in str(stderr)


@pytest.mark.parametrize("name", ["saxpy", "proposal"])
def test_info_tells_of_the_documents_calls(name: str, tmp_path: Path) -> None:
    done = run_fixture(build_fixture(name, tmp_path), LIBOMPTARGET_INFO="62")
    assert done.returncode == 0
    told = [line for line in done.stderr.splitlines() if "Launching" in line or "device 0" in line]
    assert told == done.stderr.splitlines()
    for words in ("Creating new map entry", "Copying data from host to device", "Launching kernel"):
        assert any(words in line for line in told), words
