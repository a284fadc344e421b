"""What the runtime tells its user, beside what LLVM 19's runtime says about the same program."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from clangs import CLANG, FLAGS, VERSIONS, compiled, libraries, program_of
from fixture_programs import call
from llvm_runtime import MESSAGES, llvm_libraries, said
from whole_programs import FATAL, source

from omptool.installation import libdir

# A program ends in one way, whatever construct breaks the rule.
BROKEN = {
    "data": "#pragma omp target data map(present, to : x[0 : 5])\n;",
    "enter": "#pragma omp target enter data map(to : x[0 : 5])\n"
    "#pragma omp target enter data map(to : x)",
    "exit": "#pragma omp target exit data map(present, from : x)",
    "region": "#pragma omp target map(present, to : x[0 : 5])\nx[0]++;",
    "update": "#pragma omp target update from(present : x)",
    "device": "#pragma omp target device(99)\nx[0]++;",
    "empty": "#pragma omp target exit data map(present, release : x[0 : 0])",
    "grown": "#pragma omp target enter data map(to : x[0 : 5])\n"
    "#pragma omp target enter data map(present, to : x)",
    "grown region": "#pragma omp target enter data map(to : x[0 : 5])\n"
    "#pragma omp target map(present, to : x)\nx[0]++;",
}
HELD = (
    "#include <omp.h>\nint x[4];\nint main(void) { int result = 0;\n"
    "omp_target_associate_ptr(x, omp_target_alloc(sizeof x, 0), sizeof x, 0, 0);\n"
    "#pragma omp target data map(ompx_hold, tofrom : x)\n"
    "result = omp_target_disassociate_ptr(x, 0);\nreturn result != -1; }\n"
)


def broken(name: str) -> str:
    """The program that breaks a rule."""
    return f"int x[10];\nint main(void) {{\n{BROKEN[name]}\nreturn 0;\n}}\n"


def both(program: Path, **environment: str) -> tuple[object, object]:
    """What the program says on this runtime and on LLVM's."""
    llvm = llvm_libraries()
    ours = said(program, [libdir(), llvm], **environment)
    return ours, said(program, [llvm], **environment)


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
    message = "omptarget: LIBOMPTARGET_INFO=all is not a value for it; nothing is told"
    assert stderr[0] == message


@pytest.mark.parametrize("debug", ["-g", "-g0"])
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_rule_ends_the_program_as_on_llvm(tmp_path: Path, name: str, debug: str) -> None:
    (tmp_path / "main.c").write_text(broken(name))
    call(
        CLANG[".c"],
        *FLAGS,
        "-fopenmp-version=51",
        debug,
        tmp_path / "main.c",
        "-o",
        tmp_path / "main",
    )
    ours, llvm = both(tmp_path / "main")
    assert ours == llvm
    assert "fatal error" in str(ours)


@pytest.mark.parametrize("name", ["data", "enter"])
def test_with_the_table_of_what_is_mapped_if_the_user_asked_for_it(
    tmp_path: Path, name: str
) -> None:
    path = tmp_path / "main.c"
    path.write_text(broken(name))
    call(CLANG[".c"], *FLAGS, "-fopenmp-version=51", "-g", path, "-o", tmp_path / "main")
    ours, llvm = both(tmp_path / "main", LIBOMPTARGET_INFO="4")
    assert ours == llvm
    assert "pointer mappings" in str(ours)


@pytest.mark.parametrize("name", FATAL)
def test_so_do_the_programs_that_break_one(tmp_path: Path, name: str) -> None:
    ours, llvm = both(compiled(source(name), tmp_path, "-O1"))
    assert ours == llvm
    assert "fatal error" in str(ours)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["empty", "grown", "grown region", "held"])
def test_so_do_programs_of_every_clang(tmp_path: Path, name: str, version: str) -> None:
    text = HELD if name == "held" else broken(name)
    program = program_of(version, text, tmp_path / "main.c")
    llvm = [Path(folder) for folder in libraries(version).split(":")]
    code, stderr, stdout = said(program, llvm)
    stderr = [re.sub("^Libomptarget ", "omptarget ", line) for line in stderr]  # until LLVM 18
    assert said(program, [libdir(), *llvm]) == (code, stderr, stdout)
    assert "error" in str(stderr)
