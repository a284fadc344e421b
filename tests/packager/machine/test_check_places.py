# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The lines of the checker's findings, by the debug information of programs and of their images."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from clangs import compiled
from places import TESTS
from toolchain import run

from packager.hosts.load import load
from packager.machine.run_check.check_places import with_lines
from packager.machine.run_check.check_run import CheckFinding, FilePlace, SourceLine

SOURCE = TESTS / "packager" / "machine" / "calls.c"
REGIONS = TESTS / "packager" / "machine" / "ways_to_end.c"
BARE = CheckFinding("OMP312", "m", "", "", None, None, 0, None, 1, 0, 0, 1, 0)
WAYS = {
    "pie": ("gcc", "-pie", "-fPIE"),
    "no-pie": ("gcc", "-no-pie"),
    "optimized": ("gcc", "-O2", "-fno-optimize-sibling-calls"),
    "version-4": ("clang-19", "-gdwarf-4"),
    "compressed": ("clang-19", "-gz"),
    "lines-alone": ("clang-19", "-gline-tables-only", "-O1"),
    "discarded": ("gcc", "-ffunction-sections", "-Wl,--gc-sections"),
}


def line_of(source: Path, text: str) -> int:
    lines = source.read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


CALL = SourceLine(str(SOURCE), line_of(SOURCE, "/* the call */"))


def told(printed: str) -> FilePlace:
    """Return the place that the program printed."""
    name, offset = printed.split()
    return FilePlace(os.fsencode(name), int(offset, 16))


def line(call: FilePlace, program: Path, called: str = "") -> SourceLine | None:
    (found,) = with_lines([BARE._replace(call=call)], program, called or str(program))
    assert found.place == found.construct == found.call_line
    return found.call_line


@pytest.mark.parametrize("way", WAYS)
def test_a_call_in_a_program(tmp_path: Path, way: str) -> None:
    compiler, *flags = WAYS[way]
    out = tmp_path / "app"
    run(compiler, "-g", *flags, SOURCE, "-o", out)
    call = told(run(out))
    assert line(call, out) == CALL
    assert line(call._replace(offset=1 << 40), out) is None
    run("strip", "-g", out)
    assert line(call, out) is None
    (found,) = with_lines([BARE._replace(call=call)], out, str(out))
    assert found.call_function == "call"
    run("strip", out)
    (found,) = with_lines([BARE._replace(call=call)], out, str(out))
    assert found.call_function == ""


def test_a_call_in_a_library(tmp_path: Path) -> None:
    library = tmp_path / "library.so"
    run("gcc", "-g", "-shared", "-fPIC", "-DLIBRARY", SOURCE, "-o", library)
    script = f"import ctypes; ctypes.CDLL({str(library)!r}).call()"
    call = told(run("python3", "-c", script))
    assert call.file == os.fsencode(library)
    assert line(call, Path("/bin/true")) == CALL


def test_a_program_has_the_name_that_it_was_asked_for_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "app"
    run("gcc", "-g", SOURCE, "-o", out)
    printed = subprocess.run(["odd"], executable=out, capture_output=True, check=True).stdout
    call = told(printed.decode())
    assert call.file == b"odd"
    assert line(call, out, "odd") == CALL
    assert line(call, out) is None
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert line(call._replace(file=b"app"), Path("/bin/true")) == CALL


def test_what_the_runtime_knows_comes_first(tmp_path: Path) -> None:
    known = SourceLine("known.c", 3, 1)
    finding = BARE._replace(source=known, call=FilePlace(b"/no/such", 1))
    (found,) = with_lines([finding], tmp_path / "app", "app")
    assert found.place == found.construct == known


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"text", b"\x7fELF\x02\x01\x01" + bytes(200)])
def test_files_that_are_no_programs(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    finding = BARE._replace(call=FilePlace(os.fsencode(path), 5), kernel=7, entry="k")
    assert with_lines([finding], path, str(path)) == (finding,)
    assert with_lines([finding], tmp_path, "x") == (finding,)


def test_debug_information_that_is_damaged(tmp_path: Path) -> None:
    out = tmp_path / "app"
    run("gcc", "-g", SOURCE, "-o", out)
    call = told(run(out))
    data = bytearray(out.read_bytes())
    at = data.index(b"calls.c\0") - 40
    for start in (at, len(data) // 2):
        damaged = tmp_path / "damaged"
        damaged.write_bytes(data[:start] + b"\xff" * 200 + data[start + 200 :])
        line(call, damaged, os.fsdecode(call.file))  # whatever it is


def test_an_instruction_of_a_kernel(tmp_path: Path) -> None:
    program = compiled(REGIONS, tmp_path, "-g", "-O0")
    (image,) = load(program).images
    kernel = next(symbol for symbol in image.symbols if "_add_one_l" in symbol.name)
    assert kernel.address is not None
    finding = BARE._replace(entry=kernel.name, kernel=kernel.address + 4, source=CALL)
    (found,) = with_lines([finding], program, "app")
    assert found.kernel_line is not None
    assert Path(found.kernel_line.file).name == REGIONS.name
    first = line_of(REGIONS, "add_one")
    assert found.kernel_line.line in range(first, first + 8)
    assert (found.place, found.construct) == (found.kernel_line, CALL)
    call = FilePlace(os.fsencode(program), 1)  # of a library that a launcher opens
    (found,) = with_lines([finding._replace(call=call)], Path("/bin/true"), "true")
    assert found.kernel_line
    (found,) = with_lines([finding._replace(entry="another")], program, "app")
    assert found.kernel_line is None
