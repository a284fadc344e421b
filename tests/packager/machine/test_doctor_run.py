# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool doctor --run` reports where each region ran, however the program ends."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from clangs import compiled
from doctoring import changed, for_another_machine
from documents import document
from fixture_programs import OMPTOOL
from places import TESTS
from running import omptool_run
from toolchain import compile_c, omptool

from omptool.installation import libdir

pytestmark = pytest.mark.offloads

SOURCE = TESTS / "packager" / "machine" / "ways_to_end.c"
DEVICE = "device 0 (host)"
PLAIN = "int main(void) { return 0; }"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(SOURCE, tmp_path_factory.mktemp("program"))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide a library whose function `add_one` has the region."""
    folder = tmp_path_factory.mktemp("library")
    return compiled(SOURCE, folder, "-shared", "-fPIC", "-Dmain=unused")


def reported(*words: object, code: int = 0, **environment: str) -> dict[str, Any]:
    done = omptool("doctor", "--run", "--json", "--", *words, environment=environment)
    assert done.exit_code == code, done.stderr
    return document("doctor-run", done.stdout)


def doctor(*words: object) -> subprocess.CompletedProcess[str]:
    """Run doctor as a process of its own: the program writes to its stderr."""
    command = [str(OMPTOOL), "doctor", "--run", "--", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def rows(said: dict[str, Any]) -> list[tuple[str, str, int, int]]:
    return [(r["source"], r["runs_on"], r["begun"], r["ended"]) for r in said["regions"]]


def test_regions_on_a_device(program: Path) -> None:
    said = reported(program)
    assert rows(said) == [("add_one:9", DEVICE, 1, 1)]
    assert (said["exit_code"], said["signal"], said["lost"]) == (0, None, 0)
    assert [Path(file) for file in said["files"]] == [program]


@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        ({"OMP_TARGET_OFFLOAD": "DISABLED"}, "OMP_TARGET_OFFLOAD is DISABLED"),
        ({"OMP_DEFAULT_DEVICE": "1"}, "the program asks for the host's device number"),
        ({"OMPTOOL_PLUGINS": "none"}, "there is no device: "),
    ],
    ids=str,
)
def test_regions_on_the_host_and_why(
    program: Path, environment: dict[str, str], reason: str
) -> None:
    said = reported(program, code=1, **environment)
    assert rows(said) == [("add_one:9", "host", 1, 1)]
    assert said["regions"][0]["reason"].startswith(reason)


def test_a_region_that_must_not_fall_back_is_reported(program: Path) -> None:
    said = reported(program, code=1, OMPTOOL_PLUGINS="none", OMP_TARGET_OFFLOAD="MANDATORY")
    assert rows(said) == [("add_one:9", "host", 1, 1)]
    assert said["signal"] == signal.SIGABRT


IF_CLAUSE = """
static void transport(int n, double *a) {
#pragma omp target teams distribute parallel for map(tofrom : a[0 : n]) if (n > 100)
  for (int i = 0; i < n; i++)
    a[i] *= 2;
}
int main(void) {
  double a[8] = {0};
#pragma omp target map(tofrom : a)
  a[0] = 1;
  transport(8, a);
  return a[0] != 2;
}
"""


def test_regions_that_never_reached_the_runtime(tmp_path: Path) -> None:
    source = tmp_path / "transport.c"
    source.write_text(IF_CLAUSE)
    app = compiled(source, tmp_path)
    done = doctor(app)
    first, *rest = done.stdout.splitlines()
    verdict = "1 region ran, on a device; 1 region was not launched"
    assert (done.returncode, first) == (0, f"{app}: {verdict}; the program exited with 0")
    [line] = [line for line in rest if "not launched" in line]
    assert line.split(maxsplit=1)[0] == "transport:3"
    assert "not launched (not called, or its `if` was false)" in line
    said = reported(app)
    assert [(one["source"], one["file"]) for one in said["not_launched"]] == [
        ("transport:3", str(app))
    ]
    assert reported(app, OMP_TARGET_OFFLOAD="DISABLED", code=1)["not_launched"]


def test_a_program_that_launches_nothing(tmp_path: Path) -> None:
    source = tmp_path / "none.c"
    source.write_text(IF_CLAUSE.replace("#pragma omp target map(tofrom : a)\n", ""))
    first, *_ = doctor(compiled(source, tmp_path)).stdout.splitlines()
    assert "no region reached the runtime; 1 region was not launched; " in first


def test_a_wrong_image(program: Path, tmp_path: Path) -> None:
    said = reported(changed(program, tmp_path / "changed", for_another_machine), code=1)
    assert "it is for aarch64" in said["regions"][0]["reason"]


def test_a_library_that_python_opens(library: Path) -> None:
    call = f"import ctypes; print(ctypes.CDLL({str(library)!r}).add_one(41))"
    done = doctor(sys.executable, "-c", call)
    assert (done.returncode, done.stderr) == (0, "42\n")
    said = reported(sys.executable, "-c", call)
    assert rows(said) == [("add_one:9", DEVICE, 1, 1)]
    assert said["files"] == [str(library)]


def test_a_program_that_opens_a_library(library: Path, tmp_path: Path) -> None:
    source = TESTS / "packager" / "machine" / "opener.c"
    opener = compile_c(source.read_text(), tmp_path / "opener")
    assert rows(reported(opener, library)) == [("add_one:9", DEVICE, 1, 1)]


@pytest.fixture(scope="module", params=["clang-19", "gcc -foffload=disable"])
def of_host(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """Provide the library, compiled for the host alone."""
    out = tmp_path_factory.mktemp("of-host") / "libplug.so"
    options = ["-g", "-O2", "-fopenmp", "-fPIC", "-shared", "-Dmain=unused"]
    subprocess.run([*request.param.split(), *options, SOURCE, "-o", out], check=True)
    return out


@pytest.mark.parametrize("opener", ["compiled", "python"])
def test_an_opened_library_for_the_host_alone(of_host: Path, tmp_path: Path, opener: str) -> None:
    """The library registers nothing, so its regions never reach the runtime."""
    words: tuple[object, ...]
    words = (sys.executable, "-c", f"import ctypes; ctypes.CDLL({str(of_host)!r}).add_one(1)")
    if opener == "compiled":
        source = TESTS / "packager" / "machine" / "opener.c"
        words = (compile_c(source.read_text(), tmp_path / "opener"), of_host)
    said = reported(*words, code=1)
    assert not said["regions"]
    assert {row["file"] for row in (*said["host_only"], *said["gcc"])} == {str(of_host)}
    done = doctor(*words)
    assert re.search("compiled for the host alone|runs? on the host, by libgomp", done.stdout)


def test_an_opened_library_by_a_relative_name(of_host: Path, tmp_path: Path) -> None:
    """The program has another working directory than doctor."""
    shutil.copy(of_host, tmp_path)
    script = tmp_path / "opens.py"
    script.write_text("import ctypes, os; os.chdir(os.path.dirname(__file__))\n")
    with script.open("a") as out:
        out.write("ctypes.CDLL('./libplug.so')\n")
    said = reported(sys.executable, script, code=1)
    files = {row["file"] for row in (*said["host_only"], *said["gcc"])}
    assert files == {str(tmp_path / "libplug.so")}


@pytest.fixture(scope="module")
def unlinked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide the library with entries and images, linked without registering them."""
    folder = tmp_path_factory.mktemp("unlinked")
    clang = ["clang-19", "-fopenmp", "-fPIC"]
    targets = ["-fopenmp-targets=x86_64-pc-linux-gnu", "-Dmain=unused", "-c"]
    subprocess.run([*clang, *targets, SOURCE, "-o", folder / "plug.o"], check=True)
    runtime = [f"-L{libdir()}", "-lomptarget"]
    out = folder / "libplug.so"
    subprocess.run([*clang, "-shared", folder / "plug.o", *runtime, "-o", out], check=True)
    return out


@pytest.mark.parametrize("is_stripped", [False, True])
def test_an_opened_library_that_registers_nothing_is_named(
    unlinked: Path, library: Path, tmp_path: Path, is_stripped: bool
) -> None:
    """Its entry table shows it, which strip keeps, even beside a library that registers regions."""
    plug = Path(shutil.copy(unlinked, tmp_path))
    if is_stripped:
        subprocess.run(["strip", plug], check=True)
    source = TESTS / "packager" / "machine" / "opener.c"
    opener = compile_c(source.read_text(), tmp_path / "opener")
    said = "libplug.so was linked without -fopenmp-targets: put `omptool link --` before its link"
    line = f"omptarget: region add_one:9 of libplug.so runs on the host: {said} command\n"
    done = omptool_run(opener, plug)
    assert (done.returncode, done.stderr) == (0, line)
    [region] = reported(opener, plug, code=1)["regions"]
    assert (region["source"], region["runs_on"]) == ("add_one:9", "host")
    assert region["reason"].startswith(said)
    both = f"import ctypes; [ctypes.CDLL(p).add_one(1) for p in ({str(library)!r}, {str(plug)!r})]"
    assert omptool_run(sys.executable, "-c", both).stderr == line
    done = omptool_run("--mandatory", opener, plug)
    assert done.returncode == -signal.SIGABRT
    assert "region add_one:9 of libplug.so cannot run on a device" in done.stderr


@pytest.mark.parametrize(
    ("end", "number", "line"),
    [("kill", signal.SIGKILL, "SIGKILL ended the program"), ("fault", signal.SIGSEGV, "SIGSEGV")],
)
def test_a_program_that_a_signal_ends(program: Path, end: str, number: int, line: str) -> None:
    said = reported(program, end, code=1)
    assert (said["exit_code"], said["signal"]) == (None, number)
    assert rows(said)[0] == ("add_one:9", DEVICE, 1, 1)
    if end == "fault":
        assert rows(said)[1:] == [("fault_in_kernel:34", DEVICE, 1, 0)]
    done = doctor(program, end)
    assert line in done.stdout
    assert ("was running on a device" in done.stdout) == (end == "fault")


def test_threads_are_counted(program: Path) -> None:
    assert rows(reported(program, "threads")) == [("add_one:9", DEVICE, 201, 201)]


def test_a_child_of_fork(program: Path) -> None:
    said = reported(program, "fork", code=1)
    assert rows(said) == [("add_one:9", DEVICE, 1, 1), ("add_one:9", "host", 1, 1)]
    parent, child = said["regions"]
    assert parent["process"] != child["process"]
    assert "has forked" in child["reason"]


def test_a_script_and_its_processes(program: Path, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(f'"{program}"; "{program}"; exit 4\n')
    script.chmod(0o755)
    said = reported(script, code=1)
    assert said["exit_code"] == 4
    assert rows(said) == [("add_one:9", DEVICE, 1, 1)] * 2
    assert len({region["process"] for region in said["regions"]}) == 2


def test_the_programs_own_output_and_exit_code(program: Path) -> None:
    done = doctor(program, "fail")
    assert (done.returncode, done.stderr) == (1, "2\n")
    first, *_ = done.stdout.splitlines()
    said = "1 region ran, on a device; 1 region was not launched"
    assert first == f"{program}: {said}; the program exited with 3"


def test_a_signal_goes_to_the_program(program: Path) -> None:
    command = [str(OMPTOOL), "doctor", "--run", "--", str(program), "wait"]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert started.stderr
    assert started.stderr.readline() == "2\n"
    time.sleep(0.2)  # until it waits
    started.send_signal(signal.SIGTERM)
    out, _ = started.communicate(timeout=60)
    assert started.returncode == 1
    assert "SIGTERM ended the program" in out


def test_no_region(tmp_path: Path) -> None:
    plain = compile_c(PLAIN, tmp_path / "plain")
    done = omptool("doctor", "--run", "--", plain)
    line = f"{plain}: no region reached the runtime; the program exited with 0\n"
    assert (done.exit_code, done.stdout) == (0, line)


def test_words_after_the_program_are_its_own(tmp_path: Path) -> None:
    report = f"{sys.executable}: no region reached the runtime; the program exited with 3\n"
    for words in (("--run",), ("--run", "--")):
        done = omptool("doctor", *words, sys.executable, "-c", "raise SystemExit(3)", "--json")
        assert (done.exit_code, done.stdout) == (1, report)
    plain = compile_c(PLAIN, tmp_path / "plain")
    assert omptool("doctor", plain, "--run", "--json").stdout.startswith("{")


def test_a_cause_that_the_file_shows(tmp_path: Path) -> None:
    out = tmp_path / "alone"
    command = ["clang-19", "-fopenmp", "-g", str(SOURCE), "-o", str(out)]
    subprocess.run(command, check=True)
    said = reported(out, code=1)
    assert said["regions"] == []
    assert "without -fopenmp-targets" in said["no_region"]


def test_what_cannot_be_started(tmp_path: Path) -> None:
    for words, message in (
        (["nothing-of-this-name"], "nothing-of-this-name: not found"),
        ([tmp_path], f"{tmp_path}: is a directory"),
    ):
        done = omptool("doctor", "--run", "--", *words)
        assert (done.exit_code, done.stderr) == (2, f"Error: {message}\n")
    assert omptool("doctor", tmp_path / "x", "more").exit_code == 2


@pytest.mark.parametrize("content", [b"", b"OMPTRPT1" + bytes(100)], ids=["empty", "cut"])
def test_a_file_that_is_no_report_stays_as_it_is(
    program: Path, tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    environment = os.environ | {"OMPTOOL_REPORT": str(file), "LD_LIBRARY_PATH": str(libdir())}
    done = subprocess.run([program], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout == "2\n"
    reason = f"OMPTOOL_REPORT={file} is no table of this omptool's"
    assert done.stderr == f"omptarget: the runtime reports no regions: {reason}\n"
    assert file.read_bytes() == content
