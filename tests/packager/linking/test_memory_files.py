# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small device objects are files in memory, unless the user wants to see them or there are many."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path

import pytest
from toolchain import CLANG, X86_64, clang_offload, omptool, run

from packager.linking import memory_files
from packager.linking.memory_files import FIRST, memory_file

REGION = """int f%d(int x) {
#pragma omp target map(tofrom : x)
  x += %d;
  return x;
}
"""
MAIN = "int f0(int), f1(int), f2(int);\nint main(void) { return f0(f1(f2(0))) != 3; }\n"


@pytest.fixture
def objects(tmp_path: Path) -> list[Path]:
    sources = [MAIN, *(REGION % (number, number) for number in range(3))]
    names = [tmp_path / f"{number}.o" for number in range(4)]
    return [clang_offload(text, out, "-c") for text, out in zip(sources, names, strict=True)]


def linked(out: Path, objects: list[Path], *options: object) -> tuple[bytes, str]:
    """Return the linked program, and the output of omptool."""
    done = omptool("link", *options, "--", CLANG, *objects, "-o", out)
    assert done.exit_code == 0, done.output
    run(out)
    return out.read_bytes(), done.output


def test_a_program_is_the_same_with_files_on_disk(
    objects: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, kept = tmp_path / "out", tmp_path / "kept"
    before = len(list(Path("/proc/self/fd").iterdir()))
    in_memory, _ = linked(out, objects)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    on_disk, shown = linked(out, objects, "--save-temps", kept, "-v")
    assert in_memory == on_disk
    assert "/proc/" not in shown
    assert len([path for path in kept.iterdir() if path.name.endswith(f"{X86_64}.o")]) == 4
    monkeypatch.setattr(memory_files, "LAST", FIRST)
    assert linked(out, objects)[0] == on_disk
    monkeypatch.setattr(os, "memfd_create", lambda *_: os.open("/dev/null/x", os.O_RDONLY))
    assert linked(out, objects)[0] == on_disk


def test_an_error_names_the_object(objects: list[Path], tmp_path: Path) -> None:
    text = "int absent(int);\n#pragma omp declare target to(absent)\n" + REGION % (3, 3)
    bad = clang_offload(text.replace("+= 3", "= absent(x)"), tmp_path / "bad.o", "-c")
    done = omptool("link", "--", CLANG, *objects, bad, "-o", tmp_path / "out")
    assert done.exit_code == 2
    assert f"{bad}: its device code for {X86_64} uses absent" in done.output
    assert "/proc/" not in done.output


def test_paths_are_of_one_length_and_open_for_the_block_alone() -> None:
    with ExitStack() as opened:
        paths = [memory_file(b"%d" % number, opened) for number in range(20)]
        assert [path.read_bytes() for path in paths if path] == [b"%d" % n for n in range(20)]
        assert len({len(str(path)) for path in paths}) == 1
    assert not any(path.exists() for path in paths if path)
