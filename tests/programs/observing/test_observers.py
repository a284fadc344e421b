# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The runtime opens libomptool_observe.so beside itself, if a variable asks for an observer."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from clangs import CLANG, FLAGS, compiled, libraries, made
from running import PATIENCE, omptool_run

from omptool.installation import OBSERVERS, libdir

pytestmark = pytest.mark.offloads

PROGRAM = """\
#include <stdio.h>
#include <string.h>
static int is_mapped(const char *name) {
  char line[8192];
  int found = 0;
  FILE *maps = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, maps))
    found = found || strstr(line, name);
  fclose(maps);
  return found;
}
int main(void) {
  int x = 1;
#pragma omp target map(tofrom : x)
  x += 1;
  printf("%d %s\\n", x, is_mapped("/libomptool_observe.so") ? "open" : "closed");
}
"""
# Two libraries, opened one after the other. The second one's region is not launched.
OPENS = """\
#include <dlfcn.h>
int main(int count, char **paths) {
  (void)count;
  void (*run)(void) = (void (*)(void))dlsym(dlopen(paths[1], RTLD_NOW), "run_one");
  run();
  return dlopen(paths[2], RTLD_NOW) == 0;
}
"""
LIBRARY = """\
void run_NAME(void) {
  int x = 1;
#pragma omp target map(tofrom : x)
  x += 1;
}
"""
# `omptool` whose runtime lies in the folder argv[1].
ELSEWHERE = """
import pathlib, sys
import omptool.installation
root = pathlib.Path(sys.argv[1])
omptool.installation.runtime_root = lambda: root
del sys.argv[1]
from omptool.cli import main
main()
"""
VARIABLES = (
    "OMPTOOL_CHECK",
    "OMPTOOL_KERNEL_TIMEOUT",
    "OMPTOOL_REPORT",
    "OMPTOOL_SUMMARY",
    "OMPTOOL_SUMMARY_JSON",
    "OMPTOOL_TRACE",
    "OMPTOOL_TRACE_FORMAT",
    "OMPTOOL_TRACE_LIMIT",
    "LIBOMPTARGET_PROFILE",
    "LIBOMPTARGET_PROFILE_GRANULARITY",
)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = tmp_path_factory.mktemp("observers") / "program.c"
    source.write_text(PROGRAM)
    return compiled(source, source.parent)


@pytest.fixture
def without(tmp_path: Path) -> Path:
    """Return the folder of a runtime that lacks the observers, in the form of an installation."""
    folder = tmp_path / "lib"
    folder.mkdir()
    for file in (*libdir().glob("libomptarget.so*"), libdir() / "libomptarget.rtl.host.so"):
        shutil.copy(file, folder)
    return folder


def started(
    program: Path, runtime: Path, environment: dict[str, str], decoy: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the program in `decoy`, whose libraries come first, with the runtime of a folder."""
    path = ":".join([*([str(decoy)] if decoy else []), str(runtime), libraries("19")])
    return subprocess.run(
        [program],
        capture_output=True,
        text=True,
        check=False,
        cwd=decoy,
        timeout=PATIENCE,
        env=os.environ | {"LD_LIBRARY_PATH": path} | environment,
    )


def value_of(variable: str, folder: Path) -> str:
    """Return a value of the variable that can be used."""
    values = {
        "OMPTOOL_KERNEL_TIMEOUT": "60",
        "OMPTOOL_SUMMARY": "1",
        "OMPTOOL_SUMMARY_JSON": str(folder),
        "OMPTOOL_TRACE_FORMAT": "json",
        "OMPTOOL_TRACE_LIMIT": "1",
        "LIBOMPTARGET_PROFILE_GRANULARITY": "1",
    }
    return values.get(variable, str(folder / "file.json"))


@pytest.mark.parametrize("variable", VARIABLES)
def test_a_variable_that_asks_for_an_observer_opens_the_library(
    program: Path, tmp_path: Path, variable: str
) -> None:
    done = started(program, libdir(), {variable: value_of(variable, tmp_path)})
    assert (done.returncode, done.stdout) == (0, "2 open\n"), done.stderr


@pytest.mark.parametrize(
    "others", [{}, {"LIBOMPTARGET_INFO": "-1"}, {"OMPTOOL_SUMMARY": "0"}, {"OMPTOOL_TRACE": ""}]
)
def test_no_other_program_opens_it(program: Path, others: dict[str, str]) -> None:
    assert started(program, libdir(), others).stdout == "2 closed\n"


@pytest.mark.parametrize("variable", VARIABLES)
def test_a_missing_library_is_named_once_with_the_variable(
    program: Path, without: Path, tmp_path: Path, variable: str
) -> None:
    done = started(program, without, {variable: value_of(variable, tmp_path)})
    assert (done.returncode, done.stdout) == (0, "2 closed\n")
    why = "cannot open shared object file: No such file or directory"
    file = without / OBSERVERS
    assert done.stderr == f"omptarget: the runtime ignores {variable}: {file}: {why}\n"


def test_a_library_of_another_build_is_refused(program: Path, without: Path) -> None:
    source = without / "other.c"
    source.write_text("void *omptool_observe_open(void *core) { (void)core; return 0; }\n")
    subprocess.run(["cc", "-shared", "-fPIC", source, "-o", without / OBSERVERS], check=True)
    done = started(program, without, {"OMPTOOL_SUMMARY": "1"})
    assert done.returncode == 0
    why = f"{without / OBSERVERS} is of another omptool"
    assert done.stderr == f"omptarget: the runtime ignores OMPTOOL_SUMMARY: {why}\n"


def test_the_library_is_never_searched_for(program: Path, without: Path, tmp_path: Path) -> None:
    """The library is not searched for on LD_LIBRARY_PATH, nor in the current folder."""
    decoy = tmp_path / "decoy"
    decoy.mkdir()
    shutil.copy(libdir() / OBSERVERS, decoy)
    done = started(program, without, {"OMPTOOL_SUMMARY": "1"}, decoy)
    assert done.stdout == "2 closed\n"
    assert done.stderr.startswith(f"omptarget: the runtime ignores OMPTOOL_SUMMARY: {without}/")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["run", "--trace", "t.json"], 125),
        (["run", "--summary"], 125),
        (["run", "--summary-json", "s.json"], 125),
        (["run", "--timeline", "t.html"], 125),
        (["run", "--check"], 125),
        (["doctor", "--run"], 3),
    ],
)
def test_omptool_says_first_that_the_library_is_missing(
    program: Path, without: Path, tmp_path: Path, words: list[str], code: int
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE, tmp_path, *words, program],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stdout) == (code, "")
    subject = words[1] if words[0] == "run" else program
    file = without / OBSERVERS
    assert done.stderr == f"Error: {subject}: there is no {file}: install omptool again\n"


def test_the_summary_waits_for_libraries_that_were_opened_later(tmp_path: Path) -> None:
    """The order of libraries' destructors depends on their dependencies."""
    shared = []
    for name in ("one", "two"):
        source = tmp_path / f"{name}.c"
        source.write_text(LIBRARY.replace("NAME", name))
        out = tmp_path / f"lib{name}.so"
        shared.append(made(out, CLANG[".c"], *FLAGS, "-shared", "-fPIC", source))
    source = tmp_path / "opens.c"
    source.write_text(OPENS)
    program = tmp_path / "opens"
    subprocess.run(["cc", source, "-o", program], check=True)
    done = omptool_run(
        "--summary", program, *shared, LD_LIBRARY_PATH=libraries("19"), OMPTOOL_HOST_DEVICES="2"
    )
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    assert lines[0] == "Regions:"
    assert any("run_one" in line for line in lines)
    idle = "not launched (not called, or its `if` was false)"
    assert any("run_two" in line and line.endswith(idle) for line in lines)
