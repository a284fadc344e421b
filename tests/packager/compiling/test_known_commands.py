# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A command of `cc -c` that differs from an earlier one in names alone starts its compiler."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from places import FIXTURES
from toolchain import CLANG, omptool, run

from packager.compiling.known_commands import FOLDER, known_line, start_known
from packager.files.cache import CACHE

REGION = """int f%d(int x) {
#pragma omp target map(tofrom : x)
  x += 1;
  return x;
}
"""
START = """
import sys
from packager.compiling.known_commands import start_known
start_known(sys.argv[1:])
print("not known")
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    for number, name in enumerate(("a.c", "b.c", "c d.c", "sub/e.c", "f.cpp", "g.cc")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(REGION % number)
    for variable in ("CC", "CXX", "FC"):
        monkeypatch.delenv(variable, raising=False)
    return tmp_path / "cache" / FOLDER


def started(*words: str) -> subprocess.Popen[str]:
    """Start a known command as the console script can do it."""
    command = [sys.executable, "-c", START, *words]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True)


def compiled(*words: str) -> None:
    done = omptool("cc", *words)
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    "words",
    [
        "-- {clang} -O1 -c {source} -o {out}.o",
        "--triple x86_64 {clang} -g -c -o {out}.o {source} -DX=1",
        "{clang} -MD -MF {out}.o.d -MT {out}.o -c {source} -o {out}.o",
        "{clang} -MMD -MF {out}.d -MQ goal -o {out}.o -c {source} -std=gnu11 -I sub -Isub",
        "--triple nvptx64:sm_90 -- {clang} -c {source} -o {out}.o",
        "-O2 -c {source} -o {out}.o",
    ],
)
def test_other_names_lead_to_the_command_of_the_long_way(words: str) -> None:
    first = shlex.split(words.format(clang=CLANG, source="a.c", out="x"))
    assert known_line(first) is None
    compiled(*first)
    for source, out in (("a.c", "x"), ("b.c", "sub/y"), ("'c d.c'", "'z z'"), ("sub/e.c", "w")):
        given = shlex.split(words.format(clang=CLANG, source=source, out=out))
        known = known_line(given)
        shown = omptool("cc", "--dry-run", *given).output.splitlines()
        assert known is not None
        assert [shlex.join(known[1:])] == shown
        assert known[0].startswith("the compiler is" if CLANG not in first else "")
    for source in ("f.cpp", "b.C"):
        assert known_line(shlex.split(words.format(clang=CLANG, source=source, out="x"))) is None


@pytest.mark.parametrize(
    "words",
    [
        "{clang} -c a.c",  # without a name the output depends on the source's
        "{clang} -c a.c b.c",
        "{clang} -v -c a.c -o x.o",
        "{clang} -c a.c -o /dev/null",
        "{clang} -E a.c -o x.i",
        "gcc -c a.c -o x.o",  # warns
        "{clang} -c a.c -o x.o all.a",  # warns
        "--keep kept {clang} -c a.c -o x.o",
        "--dry-run {clang} -c a.c -o x.o",
        "{clang} -c @words -o x.o",
        "env {clang} -c a.c -o x.o",
        "./script -c a.c -o x.o",
    ],
)
def test_other_commands_take_the_long_way(words: str, tmp_path: Path) -> None:
    given = shlex.split(words.format(clang=CLANG))
    (tmp_path / "words").write_text("a.c")
    (tmp_path / "script").write_text(f'#!/bin/sh\nexec {CLANG} "$@"\n')
    (tmp_path / "script").chmod(0o755)
    run("ar", "rcs", "all.a")
    compiled(*given)
    assert known_line(given) is None


def test_each_change_of_what_a_command_depends_on_takes_the_long_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    words = (CLANG, "-c", "a.c", "-o", "x.o")
    compiled(*words)
    assert known_line(words)
    for name, value in (("CC", "gcc"), ("PATH", "/usr/bin"), ("CXX", "a\nb")):
        with monkeypatch.context() as changed:
            changed.setenv(name, value)
            assert known_line(words) is None
    assert known_line(words)
    (programs / CLANG).symlink_to("/usr/lib/llvm-19/bin/clang")
    assert known_line(words) is None
    compiled(*words)
    assert known_line(words)
    assert known_line((*words, "-O1")) is None


def test_a_damaged_file_and_a_closed_folder_are_passed_over(cache: Path) -> None:
    words = (CLANG, "-c", "a.c", "-o", "x.o")
    compiled(*words)
    (file,) = cache.iterdir()
    content = file.read_bytes()
    for damaged in (b"", content[:-1], content[:50], content.replace(b"-fopenmp", b"-fopenMP", 1)):
        file.write_bytes(damaged)
        assert known_line(words) is None
    compiled(*words)
    assert known_line(words)
    cache.chmod(0o777)
    assert known_line(words) is None


def test_a_part_of_an_object_is_not_the_object(cache: Path, tmp_path: Path) -> None:
    """The compiler writes its part to a temporary file; kernels in LLVM IR are added to it."""
    shutil.copy(FIXTURES / "builds" / "saxpy.ll", tmp_path)
    shutil.copy(FIXTURES / "builds" / "saxpy.c", tmp_path)
    words = (CLANG, "-c", "saxpy.c", "saxpy.ll", "-MMD", "-o", "sub/x.o")
    compiled(*words)
    assert known_line(words) is None
    assert not list(cache.glob("*"))


def test_the_object_and_the_messages_are_the_same(tmp_path: Path) -> None:
    compiled(CLANG, "-c", "a.c", "-o", "x.o")
    known = started(CLANG, "-c", "a.c", "-o", "y.o")
    assert (*known.communicate(), known.returncode) == ("", "", 0)
    assert (tmp_path / "x.o").read_bytes() == (tmp_path / "y.o").read_bytes()
    (tmp_path / "b.c").write_text("wrong\n")
    command = ["omptool", "cc", CLANG, "-c", "b.c", "-o", "z.o"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    known = started(*command[2:])
    assert (*known.communicate(), known.returncode) == (done.stdout, done.stderr, done.returncode)
    assert done.returncode == 1
    assert started(CLANG, "-c", "f.cpp", "-o", "x.o").communicate() == ("not known\n", "")
    shutil.rmtree("cache")
    start_known(command[2:])  # returns


def test_a_compiler_that_the_user_did_not_choose_is_named_after_an_error(tmp_path: Path) -> None:
    compiled("-c", "a.c", "-o", "x.o")
    known = started("-c", "a.c", "-o", "y.o")
    assert (*known.communicate(), known.returncode) == ("", "", 0)
    (tmp_path / "b.c").write_text("wrong\n")
    command = ["omptool", "cc", "-c", "b.c", "-o", "z.o"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    known = started(*command[2:])
    assert (*known.communicate(), known.returncode) == (done.stdout, done.stderr, done.returncode)
    assert done.stderr.splitlines()[-1].startswith("omptool: the compiler is clang")


@pytest.mark.parametrize("words", [("-c",), (CLANG, "-c")])
def test_a_signal_ends_the_compiler_and_the_command(tmp_path: Path, words: tuple[str, ...]) -> None:
    compiled(*words, "a.c", "-o", "x.o")
    source = tmp_path / "b.c"
    source.unlink()
    os.mkfifo(source)  # the compiler waits
    known = started(*words, "b.c", "-o", "y.o")
    for _ in range(1000):
        if "-cc1" in subprocess.check_output(["ps", "-eo", "args"], text=True):
            break
        time.sleep(0.01)
    known.send_signal(signal.SIGTERM)
    assert known.wait(timeout=20) == -signal.SIGTERM
    with suppress(ProcessLookupError):  # the driver's child waits for the source
        os.killpg(known.pid, signal.SIGKILL)
