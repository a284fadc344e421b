# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command ends properly when it is stopped, or when its output cannot be written."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fixture_programs import OMPTOOL
from linking import link
from places import TESTS
from toolchain import (
    HOST,
    MAIN,
    X86_64,
    bundled,
    compile_c,
    device_image,
    fake_runtime,
    linked,
)

COMMANDS = (["--version"], ["--help"], ["devices"], ["devices", "--json"], ["config", "--libdir"])


@pytest.mark.offloads
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_output_that_cannot_be_written_is_one_line(command: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [OMPTOOL, *command], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2
    assert done.stderr == "Error: standard output: No space left on device\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["dmp"], "No such command 'dmp'; did you mean 'dump'? Try 'omptool --help'."),
        (["frobnicate"], "No such command 'frobnicate'. Try 'omptool --help'."),
        (["dump"], "Missing argument 'FILE...'. Try 'omptool dump --help'."),
        (
            ["verify", "--requre-entries"],
            "Did you mean '--require-entries'? Try 'omptool verify --help'.",
        ),
    ],
)
def test_wrong_usage_is_one_line_that_points_on(words: list[str], said: str) -> None:
    done = subprocess.run([OMPTOOL, *words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("Error: ")
    assert done.stderr.endswith(f"{said}\n")


@pytest.mark.parametrize("words", [["--devcie", "0", "p"], []])
def test_wrong_usage_of_run_is_one_line_and_no_exit_code_of_a_program(words: list[str]) -> None:
    done = subprocess.run([OMPTOOL, "run", *words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (125, "", 1)
    assert done.stderr.startswith("Error: ")
    assert done.stderr.endswith("Try 'omptool run --help'.\n")


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["help"], ["--help"]),
        (["help", "dump"], ["dump", "--help"]),
        (["help", "run"], ["run", "--help"]),
        (["version"], ["--version"]),
        (["-V"], ["--version"]),
    ],
)
def test_words_that_other_tools_take(words: list[str], meant: list[str]) -> None:
    done, same = (
        subprocess.run([OMPTOOL, *w], capture_output=True, check=False) for w in (words, meant)
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == same.stdout != b""


def test_help_on_no_command_is_wrong_usage() -> None:
    done = subprocess.run([OMPTOOL, "help", "dmp"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    said = "No such command 'dmp'; did you mean 'dump'? Try 'omptool --help'."
    assert done.stderr == f"Error: {said}\n"


def test_an_interrupt_while_it_starts_is_no_traceback(tmp_path: Path) -> None:
    """The interrupt arrives during an import."""
    (tmp_path / "click.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-m", "omptool", "--help"]
    done = subprocess.run(
        command,
        env=environment,
        capture_output=True,
        text=True,
        preexec_fn=heed_signals,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


def test_alone_it_says_what_to_type_first() -> None:
    done = subprocess.run([OMPTOOL], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    named = re.findall(r"^  omptool (\w+) ", done.stderr, re.MULTILINE)
    assert named == ["doctor", "doctor", "verify", "dump", "run", "devices"]


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide a program p with the image i.so."""
    folder = tmp_path_factory.mktemp("process")
    host = compile_c(HOST + MAIN, folder / "host.o", "-c")
    image = device_image(HOST, folder / "i.so")
    objects = [bundled(host, folder / "bundled.o", {X86_64: image})]
    linked(objects, folder / "p", runtime=fake_runtime(folder))
    return folder


@pytest.mark.offloads
@pytest.mark.parametrize(
    "words", [["doctor"], ["dump"], ["verify"], ["verify", "--explain=OMP101"]]
)
def test_a_full_disk_is_no_fault_of_the_file(work: Path, words: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [OMPTOOL, *words, work / "p"], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 2
    assert done.stderr == b"Error: standard output: No space left on device\n"


def little_room() -> None:
    """Limit files to 4 KiB."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["emit", "--image=x86_64=i.so", "--entries=auto", "-o", "out"], "out: cannot write out"),
        (["extract", "i.so", "-o", "out"], "i.so: cannot write out/i.so-0.so"),
        (["dump", "-"], "standard input: cannot be stored in {} (see TMPDIR)"),
    ],
)
def test_what_has_no_room_is_named_and_taken_away(work: Path, words: list[str], said: str) -> None:
    before = sorted(work.rglob("*"))
    with subprocess.Popen(["cat", work / "i.so"], stdout=subprocess.PIPE) as pipe:
        done = subprocess.run(
            [OMPTOOL, *words],
            cwd=work,
            stdin=pipe.stdout,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"TMPDIR": str(work)},
            preexec_fn=little_room,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == f"Error: {said.format(work)}: File too large\n"
    assert [path for path in work.rglob("*") if path.is_file() and path not in before] == []


@pytest.mark.offloads
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_closed_output_is_one_line(command: list[str]) -> None:
    words = " ".join([OMPTOOL, *command])
    done = subprocess.run(
        ["sh", "-c", f"exec {words} >&-"], stderr=subprocess.PIPE, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == "Error: standard output: Bad file descriptor\n"


def test_closed_error_stream_keeps_the_exit_code() -> None:
    done = subprocess.run(["sh", "-c", f"exec {OMPTOOL} dump /nowhere 2>&-"], check=False)
    assert done.returncode == 2


def test_reader_that_goes_away_is_sigpipe(tmp_path: Path) -> None:
    files = []
    for number in range(400):
        files.append(tmp_path / f"{'long' * 40}{number}.ptx")
        files[-1].write_text(".version 6.4\n.target sm_75\n.address_size 64\n")
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [OMPTOOL, "dump", *files], stdout=writer, stderr=subprocess.PIPE, check=False
    )
    os.close(writer)
    assert done.returncode == -signal.SIGPIPE
    assert done.stderr == b""


STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def heed_signals() -> None:
    """Reset signals to their default: nohup and shells' background jobs ignore some."""
    for number in STOPPING:
        signal.signal(number, signal.SIG_DFL)


@pytest.mark.parametrize("number", STOPPING)
def test_stopped_command_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    """`cc` that never ends holds `lower` in the middle of its work."""
    tools, folder = tmp_path / "tools", tmp_path / "work"
    tools.mkdir()
    folder.mkdir()
    (tools / "cc").write_text("#!/bin/sh\ntouch started\nexec sleep 60\n")
    (tools / "cc").chmod(0o755)
    (folder / "k.ll").write_text("define void @k() {\n  ret void\n}\n")
    environment = os.environ | {"PATH": f"{tools}:/usr/bin:/bin", "TMPDIR": str(tmp_path)}
    command = [OMPTOOL, "lower", "k.ll", "--triple", "x86_64", "-o", "k.so"]
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stderr=subprocess.PIPE, preexec_fn=heed_signals
    )
    for _ in range(200):
        if list(tmp_path.rglob("started")):
            break
        time.sleep(0.05)
    process.send_signal(number)
    assert process.wait(timeout=20) == -number
    assert process.stderr
    assert process.stderr.read() == b""
    assert [path.name for path in folder.iterdir() if path.name != "started"] == ["k.ll"]
    assert not list(tmp_path.glob("omptool-*"))


def test_programs_get_the_signals_they_are_used_to(tmp_path: Path) -> None:
    """Python ignores SIGPIPE, and exec keeps it ignored."""
    program = link(tmp_path / "p", TESTS / "omptool" / "commands" / "sources" / "prints_sigpipe.c")
    assert subprocess.check_output([OMPTOOL, "run", program]) == b"default\n"
