# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool run --check`: lines for records in the table, and exit codes.

The programs here write the records themselves, like the runtime's checker.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from checked import SAW_NOTHING
from documents import document
from fixture_programs import OMPTOOL
from machine import lacks
from places import ROOT, TESTS
from sarif_schema import run_of
from toolchain import omptool
from toolchain import run as run_tool

from omptool.installation import LIBRARY
from omptool.probes import launching
from omptool.probes.reports import finding_report
from packager.files.reader import open_reader
from packager.machine.run_check.check_codes import CODES

RECORDS = str(TESTS / "omptool" / "commands" / "sources" / "records_findings.py")
TWIN = ROOT / "runtime" / "observe" / "check" / "findings.h"
REGION = "__omp_offloading_fe00_512487_main_l12"
ERROR = {
    "code": 301,
    "message": "x maps 800 bytes, of which 400 are present",
    "variable": "x",
    "entry": REGION,
    "source": "app.c:12:1",
    "host": 0x1000,
    "size": 800,
    "device": 0,
    "count": 3,
    "bytes": 2400,
}
HINT = {"code": 312, "message": "y is not mapped", "source": "app.c:20:3"}
SAID = """\
app.c:12:1: OMP301 error: x maps 800 bytes, of which 400 are present
    x at 0x1000 (800 bytes); region main:12; device 0; 3 times; 2,400 bytes in all
app.c:20:3: OMP312 hint: y is not mapped
the checker found 1 error and 1 hint
"""
Record = dict[str, Any]


def run(*words: object, **how: Any) -> subprocess.CompletedProcess[str]:
    command = [str(OMPTOOL), "run", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, **how)


def recording(*records: Record) -> list[str]:
    """Return the command of a program that records findings."""
    return [sys.executable, RECORDS, json.dumps(records)]


def found(*records: Record, options: Sequence[object] = ()) -> subprocess.CompletedProcess[str]:
    return run("--check", *options, *recording(*records))


def read(folder: Path, *records: Record) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the JSON document and the run of the SARIF log."""
    options = ["--check-json", folder / "out.json", "--check-sarif", folder / "out.sarif"]
    done = found(*records, options=options)
    assert "Traceback" not in done.stderr
    said = document("run-check", (folder / "out.json").read_text())
    return said, run_of((folder / "out.sarif").read_text())


def test_the_codes_and_the_record_are_those_of_the_runtime() -> None:
    text = TWIN.read_text()
    named = {f"OMP{number}": name for name, number in re.findall(r"\bk(\w+) = (3\d\d)\b", text)}
    assert {code: code_of.name.replace("_", "") for code, code_of in CODES.items()} == {
        code: name.lower() for code, name in named.items()
    }
    sizes = [int(size) for size in re.findall(r"^  char \w+\[(\d+)\];", text, re.MULTILINE)]
    form = finding_report._FORM
    assert re.findall(r"(\d+)s", str(form.record.format)) == [str(size) for size in sizes]
    assert f"sizeof(FindingRecord) == {form.record.size}" in text
    assert tuple(finding_report.LEVELS.values()) == (1, 2)
    assert "enum class Level : std::uint32_t { kNone, kEvents, kFull };" in text


@pytest.mark.parametrize("code", CODES)
def test_every_code_is_explained(code: str) -> None:
    done = omptool("verify", "--explain", code)
    assert (done.exit_code, done.stdout) == (0, f"{code}: {CODES[code].text}\n")
    title, _, rest = CODES[code].text.partition("\n\n")
    assert "\n" not in title
    assert rest.count("\nCure: ") == 1
    number = int(code.removeprefix("OMP"))
    is_error = number < 310 or number in (321, 322, 324)  # the others are legal
    assert (CODES[code].severity == "error") == is_error


def test_the_page_lists_the_codes() -> None:
    page = (ROOT / "docs" / "observing.md").read_text()
    rows = re.findall(r"^\| (OMP3\d\d) \| (\w+) \| (.*) \|$", page, re.MULTILINE)
    assert rows == [(code, of.severity, of.title.rstrip(".")) for code, of in CODES.items()]


def test_findings_are_printed_when_the_program_has_ended() -> None:
    done = found(HINT, ERROR, {"end": 7})
    assert (done.returncode, done.stdout, done.stderr) == (7, "ends\n", SAID)


@pytest.mark.parametrize("option", ["--check", "--check=events", "--check=full"])
def test_the_next_word_is_the_program(option: str) -> None:
    level = 2 if option == "--check=full" else 1
    script = "import os, struct; table = open(os.environ['OMPTOOL_CHECK'], 'rb').read(64)"
    script += (
        f"; assert table[:8] == b'OMPTCHK1' and struct.unpack_from('<I', table, 24) == ({level},)"
    )
    done = run(option, sys.executable, "-c", script)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", SAW_NOTHING)
    assert run("--device", "0", option, "--summary", "--", "/bin/true").returncode == 0


def test_the_program_may_have_the_same_option() -> None:
    done = run("--check", "/bin/echo", "--check=full", "--check", "x")
    assert (done.stdout, done.stderr) == ("--check=full --check x\n", SAW_NOTHING)
    done = run("/bin/sh", "-c", 'echo "$1${OMPTOOL_CHECK-none}"', "sh", "--check")
    assert (done.stdout, done.stderr) == ("--checknone\n", "")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--check=fast"], "--check=fast: is no level; known levels: events, full"),
        (["--check="], "--check=: is no level; known levels: events, full"),
        (["--check-error"], "--check-error: give --check as well"),
        (["--check-sarif", "x"], "--check-sarif: give --check as well"),
        (["--check-json", "x"], "--check-json: give --check as well"),
        (["--check", "--check-json", "/dev/null/x"], "there is no folder /dev/null"),
        (["--check", "--check-sarif", "/usr"], "--check-sarif: cannot write /usr: it is a dir"),
        (["--check", "--check-json", "/dev/null"], "it is not a regular file"),
        (["--check", "--check-json", "one", "--check-sarif", "./one"], "would overwrite"),
    ],
)  # fmt: skip
def test_wrong_usage_starts_no_program(tmp_path: Path, words: list[str], message: str) -> None:
    done = run(*words, "/bin/echo", "begun", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (125, "")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_programs_that_cannot_start(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    done = run("--check", "--check-json", tmp_path / "out", script)
    assert (done.returncode, done.stdout) == (126, "")
    assert done.stderr == f"Error: {script}: its interpreter is missing\n"
    assert list(tmp_path.iterdir()) == [script]
    assert run("--check", "no-such-program").returncode == 127
    script.write_text('echo "$1"; exit 5\n')  # which shells run themselves
    done = run("--check", script, "word")
    assert (done.returncode, done.stdout, done.stderr) == (5, "word\n", SAW_NOTHING)


@pytest.mark.parametrize(
    ("records", "code"),
    [
        ([ERROR, HINT, {"end": 0}], 124),
        ([ERROR, {"end": -signal.SIGSEGV}], 124),
        ([HINT, {"end": 0}], 0),
        ([HINT, {"end": 3}], 3),
        ([{"end": -signal.SIGTERM}], -signal.SIGTERM),
    ],
)
def test_check_error(records: list[Record], code: int) -> None:
    assert found(*records, options=["--check-error"]).returncode == code


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL, signal.SIGINT, signal.SIGPIPE])
def test_a_program_that_a_signal_ends(tmp_path: Path, number: signal.Signals) -> None:
    done = found(ERROR, HINT, {"end": -number}, options=["--check-json", tmp_path / "out"])
    assert (done.returncode, done.stderr) == (-number, SAID)
    said = document("run-check", (tmp_path / "out").read_text())
    assert (said["exit_code"], said["signal"]) == (None, number)


def test_documents(tmp_path: Path) -> None:
    said, log = read(tmp_path, HINT, ERROR, {"end": 7})
    assert (said["exit_code"], said["signal"], said["level"]) == (7, None, "events")
    assert (said["errors"], said["hints"], said["lost"], said["damaged"]) == (1, 1, 0, 0)
    error, hint = said["findings"]
    assert (error["code"], error["severity"], error["region"]) == ("OMP301", "error", "main:12")
    assert error["place"] == error["construct"] == {"file": "app.c", "line": 12, "column": 1}
    assert (error["address"], error["size"], error["count"]) == (0x1000, 800, 3)
    assert (hint["code"], hint["entry"], hint["device"], hint["call"]) == (
        "OMP312",
        None,
        None,
        None,
    )
    assert [result["level"] for result in log["results"]] == ["error", "note"]
    first, _ = log["results"]
    assert first["occurrenceCount"] == 3
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "app.c"
    assert place["region"] == {"startLine": 12, "startColumn": 1}
    rules = log["tool"]["driver"]["rules"]
    assert rules[first["ruleIndex"]]["id"] == "OMP301"
    assert [rule["help"]["text"] for rule in rules] == [code.text for code in CODES.values()]
    assert log["invocations"][0]["exitCode"] == 7


def test_documents_of_no_findings(tmp_path: Path) -> None:
    said, log = read(tmp_path, {"end": -signal.SIGABRT})
    assert (said["findings"], log["results"]) == ([], [])
    (invocation,) = log["invocations"]
    assert invocation["exitSignalName"] == "SIGABRT"
    assert {path.name for path in tmp_path.iterdir()} == {"out.json", "out.sarif"}


def test_names_of_documents_may_have_the_process(tmp_path: Path) -> None:
    run("--check", "--check-json", tmp_path / "out.%p", "/bin/true")
    (path,) = tmp_path.iterdir()
    assert re.fullmatch(r"out\.\d+", path.name)


def test_a_document_that_cannot_be_written_any_more(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    words = ["--check-json", folder / "out", "/bin/sh", "-c", f"rmdir {folder}; exit 3"]
    done = run("--check", *words)
    assert done.returncode == 125
    assert done.stderr.startswith(f"{SAW_NOTHING}Error: {folder}/out: cannot write")
    assert len(done.stderr.splitlines()) == 2


def test_a_disk_without_room(tmp_path: Path) -> None:
    """A file system of its own, of one page, that the program fills."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4096", "none", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this user mounts no file systems")
    try:
        fill = f"head -c 4096 /dev/zero >{disk}/filler"
        done = run("--check", "--check-json", disk / "out", "/bin/sh", "-c", fill)
        left = [path.name for path in disk.iterdir()]
    finally:
        subprocess.run(["umount", disk], check=True)
    assert done.returncode == 125
    assert f"Error: {disk}/out: cannot write {disk}/out: No space left on device" in done.stderr
    assert left == ["filler"]


@pytest.mark.parametrize(
    "hostile",
    [
        {"message": "\x1b[31mred\x1b[0m\r\n\x07"},
        {"message": "\xff\xfe\xe2\x82"},
        {"message": "m" * 504, "variable": "v" * 120, "entry": "e" * 392, "source": "s" * 480},
        {"message": "[a](b)", "source": ":0:0", "entry": "__omp_offloading_1_2__Z_l3"},
        {"source": "app.c:0:0"},
        {"source": "app.c:999999999999:1", "message": ""},
        {"source": "a:b:c:4:5"},
        {"call_file": "/no/such\nfile", "call": 0x12, "kernel": 0x34, "entry": REGION},
        {"call_file": "/dev/zero", "call": 1, "kernel": 1, "entry": REGION},
        {"call_file": "/etc/passwd", "call": 2**64 - 1},
        {"call_file": "c" * 480, "call": 5},
        dict.fromkeys(("count", "bytes", "host", "size", "call", "kernel"), 2**64 - 1),
        {"count": 0, "device": 2**31 - 1},
        {"device": -(2**31)},
        {"variable": "a\nb", "source": "\x00app.c:1:1"},
    ],
)
def test_hostile_records(tmp_path: Path, hostile: Record) -> None:
    record = {"code": 321, "message": "m", **hostile}
    said, log = read(tmp_path, record, {"end": 0})
    assert (len(said["findings"]), len(log["results"])) == (1, 1)
    done = found(record, {"end": 4})
    assert done.returncode == 4
    lines = done.stderr.splitlines()
    assert lines[-1] == "the checker found 1 error"
    assert len(lines) <= 3
    assert "".join(lines).isprintable()


def test_garbage_in_the_table(tmp_path: Path) -> None:
    done = found(ERROR, {"raw": "\xff" * 10_000, "end": 0}, options=["--check-error"])
    assert done.returncode == 0
    lost = "the program has overwritten the checker's table: its findings are lost\n"
    assert done.stderr == lost + SAW_NOTHING
    said, log = read(tmp_path, {"raw": "\xff" * 10_000, "end": 0})
    assert not said["is_whole"]
    assert len(log["invocations"][0]["toolExecutionNotifications"]) == 1


def test_records_that_no_checker_wrote() -> None:
    done = found({"code": 999}, ERROR, HINT, {"code": 0, "end": 0})
    damaged = "the program has overwritten 2 records of the checker's table\n"
    last = SAID.splitlines(keepends=True)[-1]
    assert done.stderr == SAID.replace(last, damaged + last)


def test_findings_without_a_place() -> None:
    done = found({"lost": 2, "end": 0})
    full = "the checker's table is full: it has no place for 2 findings\n"
    assert done.stderr == full + SAW_NOTHING


def test_errors_are_first() -> None:
    codes = [312, 301, 340, 322, 316, 302]
    done = found(*({"code": code, "message": "m"} for code in codes), {"end": 0})
    printed = [int(code) for code in re.findall(r"OMP(\d+)", done.stderr)]
    assert printed == [301, 322, 302, 312, 340, 316]
    assert done.stderr.endswith("the checker found 3 errors and 3 hints\n")
    assert f"{sys.executable}: OMP301 error: m\n" in done.stderr


def test_stderr_without_a_reader() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    command = [str(OMPTOOL), "run", "--check", *recording(ERROR, {"end": 3})]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=write_end, check=False)
    os.close(write_end)
    assert done.returncode == 3


def test_the_program_has_what_omptool_has(tmp_path: Path) -> None:
    """Files, limits, signals that are ignored, and the mask are the same with --check.

    But glibc's posix_spawn ignores two signals of its own, 32 and 33, until they are used.
    """
    script = tmp_path / "script"
    status = "grep -E '^Sig(Blk|Ign)' /proc/self/status"
    script.write_text(f"#!/bin/sh\ncat; ls /proc/self/fd | wc -l; ulimit -a; {status}\n")
    script.chmod(0o755)
    more = os.open(RECORDS, os.O_RDONLY)

    def prepare() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (99, 200))
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    how = {"input": "typed\n", "pass_fds": (more,), "preexec_fn": prepare}
    plain, checked = run(script, **how), run("--check", script, **how)
    os.close(more)
    own = re.compile(r"(?<=SigIgn:\t)\w+")
    assert own.sub(lambda found: f"{int(found[0], 16) & ~(3 << 31):016x}", checked.stdout) == (
        own.sub(lambda found: f"{int(found[0], 16) & ~(3 << 31):016x}", plain.stdout)
    )
    assert plain.stdout.startswith("typed\n")
    assert checked.stderr == SAW_NOTHING


def test_the_line_of_a_call(tmp_path: Path) -> None:
    app = tmp_path / "app"
    source = TESTS / "packager" / "machine" / "calls.c"
    (tmp_path / "calls.c").write_text(source.read_text())
    run_tool("gcc", "-g", tmp_path / "calls.c", "-o", app)
    name, offset = run_tool(app).split()
    record = {**HINT, "source": "", "call_file": name, "call": int(offset, 16)}
    line = source.read_text().splitlines().index("  print_call(); /* the call */") + 1
    words = ["--check", *recording(record, {"end": 0})]
    said = run(*words, cwd=tmp_path).stderr
    assert said.startswith(f"calls.c:{line}: OMP312 hint: y is not mapped\n")
    assert run(*words).stderr.startswith(f"{tmp_path}/calls.c:{line}: OMP312")
    run_tool("strip", "-g", app)
    assert run(*words).stderr == (
        f"{app}: call: OMP312 hint: y is not mapped\n"
        f"{app} has no source lines: compile with -g for lines\n"
        "the checker found 1 hint\n"
    )
    run_tool("strip", app)
    assert run(*words).stderr.startswith(f"{app}+{offset}: OMP312 hint: y is not mapped\n")


def test_a_program_in_gdb() -> None:
    if not shutil.which("gdb"):
        lacks("gdb is not here: apt-get install gdb")
    command = [str(OMPTOOL), "run", "--check", "--gdb", *recording(ERROR, HINT, {"end": 3})]
    done = subprocess.run(command, input="run\n", capture_output=True, text=True, check=False)
    assert "exited with code 03" in done.stdout
    assert done.stderr.endswith(SAID)


def test_the_heap_is_watched_where_the_runtime_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (LIBRARY, launching.HEAP):
        (tmp_path / name).touch()
    monkeypatch.setattr(launching, "libdir", lambda: tmp_path)
    sh = Path("/bin/sh")
    with open_reader(sh) as data:
        for is_checked in (False, True):
            own = {"LD_PRELOAD": "mine.so"}
            preloaded = launching.on_the_runtime(sh, data, own, is_checked=is_checked)["LD_PRELOAD"]
            assert preloaded.startswith(str(tmp_path / LIBRARY))
            assert preloaded.endswith(":mine.so")
            assert (f":{tmp_path / launching.HEAP}:" in preloaded) == is_checked


def test_trace_and_summary_beside(tmp_path: Path) -> None:
    options = [
        "--summary=all",
        "--trace",
        tmp_path / "t.json",
        "--check",
        "--check-json",
        tmp_path / "c",
    ]
    done = run(*options, "/bin/sh", "-c", 'echo "$OMPTOOL_SUMMARY$OMPTOOL_TRACE$OMPTOOL_CHECK"')
    assert re.fullmatch(rf"all{tmp_path}/t\.json/proc/\d+/fd/\d+\n", done.stdout)


def test_without_check_nothing_more_is_loaded() -> None:
    names = ("check_run", "finding_report", "watching", "packager.dwarf", "packager.hosts")
    script = f"""
import os, sys
os.execve = lambda *_: print([n for n in sys.modules for w in {names} if n.endswith(w)], flush=True)
sys.argv = ["omptool", "run", "/bin/true"]
from omptool.cli import main
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.stdout == "[]\n", done.stderr
