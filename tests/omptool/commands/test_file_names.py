# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""File names that are none, streams, and names that a terminal must not be shown as they are."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from fixture_programs import OMPTOOL
from toolchain import HOST, MAIN, X86_64, bundled, compile_c, device_image

IR = "define void @k() {\n  ret void\n}\n"


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide host.o, image.so, both.o with that image, k.ll, and a pipe without a writer."""
    folder = tmp_path_factory.mktemp("names")
    host = compile_c(HOST + MAIN, folder / "host.o", "-c")
    image = device_image(HOST, folder / "image.so")
    bundled(host, folder / "both.o", {X86_64: image})
    (folder / "k.ll").write_text(IR)
    (folder / "trace.json").write_text("[]")
    os.mkfifo(folder / "pipe")
    return folder


def omptool(
    folder: Path, *words: object, stdin: bytes = b"", code: int = 2
) -> tuple[str, list[str]]:
    """Run a command; check its exit code, and return its stdout and its lines on stderr."""
    command = [OMPTOOL, *(os.fspath(w) if isinstance(w, os.PathLike) else str(w) for w in words)]
    done = subprocess.run(
        command, cwd=folder, input=stdin, capture_output=True, check=False, timeout=60
    )
    said = done.stderr.decode()
    assert done.returncode == code, said
    return done.stdout.decode(), said.splitlines()


COMMANDS = {
    "dump": ["dump", "NAME"],
    "against": ["dump", "both.o", "--against", "NAME"],
    "verify": ["verify", "NAME"],
    "extract": ["extract", "NAME", "--all"],
    "doctor": ["doctor", "NAME"],
    "lower": ["lower", "NAME", "--triple", "x86_64", "-o", "out"],
    "lower -o": ["lower", "k.ll", "--triple", "x86_64", "-o", "NAME"],
    "bundle": ["bundle", "NAME", "--image", "x86_64=image.so", "-o", "out"],
    "bundle -o": ["bundle", "host.o", "--image", "x86_64=image.so", "-o", "NAME"],
    "bundle -MD": ["bundle", "host.o", "--image", "x86_64=image.so", "-o", "out", "-MD", "NAME"],
    "timeline": ["timeline", "NAME", "-o", "out"],
    "stats": ["stats", "NAME"],
    "stats --against": ["stats", "trace.json", "--against", "NAME"],
    "slim -o": ["slim", "image.so", "--keep", "sm_90", "-o", "NAME"],
    "timeline -o": ["timeline", "trace.json", "-o", "NAME"],
    "emit -o": ["emit", "--image", "x86_64=image.so", "-o", "NAME"],
}
READ_ONCE = (
    "dump",
    "against",
    "verify",
    "extract",
    "lower",
    "timeline",
    "stats",
    "stats --against",
)


def named(command: str, name: str) -> list[str]:
    return [name if word == "NAME" else word for word in COMMANDS[command]]


@pytest.mark.parametrize("name", ["", "folder/"])
@pytest.mark.parametrize("command", COMMANDS)
def test_what_names_no_file_is_wrong_usage(work: Path, command: str, name: str) -> None:
    _, said = omptool(work, *named(command, name))
    assert f"{name!r} is not the name of a file. Try 'omptool " in said[-1]
    assert not (work / "out").exists()


@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in READ_ONCE])
def test_a_stream_is_wrong_usage_where_it_makes_no_sense(work: Path, command: str) -> None:
    _, said = omptool(work, *named(command, "-"))
    what = "'-' is not supported here: use a file; write ./- for a file of that name. Try 'omptool "
    assert what in said[-1]


@pytest.mark.parametrize("command", ["dump", "verify", "extract", "doctor"])
def test_a_pipe_is_not_read_and_the_line_names_it(work: Path, command: str) -> None:
    os.mkfifo(work / "fifo")
    _, said = omptool(work, command, "fifo")
    (work / "fifo").unlink()
    assert said == ["Error: fifo: is not a regular file but a pipe, which is not supported"]


def test_an_image_is_a_file(work: Path) -> None:
    _, said = omptool(work, "emit", "--image", "x86_64=-", "-o", "out", stdin=b"\x7fELF")
    assert said == ["Error: out: image -: No such file or directory"]


def test_a_pipe_can_be_read_twice(work: Path, tmp_path: Path) -> None:
    """`extract` without a choice counts the images first."""
    image = (work / "image.so").read_bytes()
    printed, _ = omptool(tmp_path, "extract", "-", stdin=image, code=0)
    assert (tmp_path / printed.strip()).read_bytes() == image


@pytest.mark.parametrize("command", READ_ONCE)
def test_standard_input_has_one_name(work: Path, command: str) -> None:
    _, said = omptool(work, *named(command, "-"))
    assert said == ["Error: standard input: is empty"]


def test_a_file_that_is_called_as_standard_input_is(work: Path, tmp_path: Path) -> None:
    (tmp_path / "-").write_bytes((work / "image.so").read_bytes())
    printed, _ = omptool(tmp_path, "dump", "./-", code=0)
    assert printed.startswith(f"{tmp_path}/-: device images")


def test_ir_can_come_through_a_pipe(work: Path, tmp_path: Path) -> None:
    words = ("lower", "-", "--triple", "nvptx64", "-o", "k.ptx")
    omptool(tmp_path, *words, stdin=IR.encode(), code=0)
    assert ".entry k()" in (tmp_path / "k.ptx").read_text()


@pytest.mark.parametrize("name", ["two\nlines", "\x1b[31mred", "b\udcffd"])
def test_a_name_cannot_break_the_line_it_is_in(work: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes((work / "image.so").read_bytes())
    shown = name.replace("\udcff", r"\xff").replace("\n", r"\n").replace("\x1b", r"\x1b")
    for words in (
        ["lower", name, "--triple", "x86_64", "-o", "out"],
        ["bundle", name, "--image", f"x86_64={work / 'image.so'}", "-o", "out"],
    ):
        _, said = omptool(tmp_path, *words)
        assert len(said) == 1
        assert said[0].startswith(f"Error: {shown}:")


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("pipe", "is not a regular file"),
        ("/dev/zero", "is not a regular file"),
        ("image.so", "is not text: byte "),
        ("k.ll", "'define void @k() {' in line 1 is not a symbol name"),
    ],
)
def test_a_list_of_entries_is_a_text_file(work: Path, name: str, fault: str) -> None:
    """One that never ends was read for ever."""
    _, said = omptool(work, "emit", "--image", "x86_64=image.so", "--entries", name, "-o", "out")
    assert len(said) == 1
    assert said[0].startswith(f"Error: {name}: {fault}")


def test_an_output_with_a_name_that_is_too_long(work: Path) -> None:
    name = "x" * 300
    _, said = omptool(work, "lower", "k.ll", "--triple", "x86_64", "-o", name)
    assert said == [f"Error: k.ll: cannot write {name}: File name too long"]


@pytest.mark.parametrize("name", ["pipe", "k.ll"])
def test_a_folder_that_is_none(work: Path, name: str) -> None:
    _, said = omptool(work, "extract", "both.o", "-o", name)
    assert said == [f"Error: both.o: cannot write to {name}: it is not a folder"]


def test_no_folder_is_made_for_what_is_not_written(work: Path) -> None:
    omptool(work, "extract", "k.ll", "-o", "new")
    omptool(work, "extract", "both.o", "--image", "7", "-o", "new", code=1)
    assert not (work / "new").exists()


def test_a_program_of_this_folder_is_pointed_out(tmp_path: Path) -> None:
    (tmp_path / "app").write_text("#!/bin/sh\n")
    _, said = omptool(tmp_path, "run", "app", code=127)
    assert said == ["Error: app: not found on PATH; the file in this folder is ./app"]
    _, said = omptool(tmp_path, "run", "other", code=127)
    assert said == ["Error: other: not found"]


NO_FILE = "x" * 300


@pytest.mark.parametrize(
    "words",
    [
        ("run", NO_FILE),
        ("link", "--", "false", f"@{NO_FILE}"),
        ("link", "--", "false", f"-L{NO_FILE}", f"-l{NO_FILE}", "host.o"),
        ("cc", "--", "false", f"@{NO_FILE}"),
    ],
    ids=["run", "link @", "link -l", "cc @"],
)
def test_a_word_that_is_too_long_for_a_file_names_none(work: Path, words: tuple[str, ...]) -> None:
    """Before 3.14, Python's Path.exists raises for it."""
    done = subprocess.run([OMPTOOL, *words], cwd=work, capture_output=True, text=True, check=False)
    assert done.returncode in (1, 127)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["link", "cc"])
def test_a_response_file_has_no_null_bytes(work: Path, tmp_path: Path, command: str) -> None:
    words = tmp_path / "words"
    words.write_bytes(b"-o a\0b")
    _, said = omptool(work, command, "--", "cc", f"@{words}")
    assert said == [f"Error: {words}: cannot be read as a response file: it has a null byte"]
