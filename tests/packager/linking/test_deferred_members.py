# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Of an archive's members with device code, only those are parsed that a program may link."""

from __future__ import annotations

from pathlib import Path

import pytest
from toolchain import CLANG, clang_offload, omptool, run

from packager.hosts.load import Loaded
from packager.linking import inputs

DECLARED = "#pragma omp begin declare target\n%s\n#pragma omp end declare target\n"
REGION = """#pragma omp begin declare target
int helped%d(int x) { return x + %d; }
#pragma omp end declare target
int f%d(int x) {
#pragma omp target map(tofrom : x)
  x = %s(x);
  return x;
}
"""
MAIN = "int f0(int), f1(int);\nint main(void) { return f0(f1(0)) != %d; }\n"


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the names of parsed members."""
    names: list[str] = []
    parse = inputs._host_part

    def recorded(loaded: Loaded, *rest: object) -> object:
        names.append(Path(loaded.binary.path).name.partition("(")[2].rstrip(")"))
        return parse(loaded, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(inputs, "_host_part", recorded)
    return names


def archive(folder: Path, helper: str = "") -> Path:
    """Return an archive of six members; f1 calls `helper`, which a seventh member defines."""
    names = [folder / f"m{number}.o" for number in range(6)]
    for number, path in enumerate(names):
        called = helper if helper and number == 1 else f"helped{number}"
        text = REGION % (number, number + 1, number, called)
        clang_offload(DECLARED % f"int {called}(int);" + text, path, "-c")
    if helper:
        names.append(folder / "helper.o")
        definition = f"int {helper}(int x) {{ return x + 5; }}"
        clang_offload(DECLARED % definition, names[-1], "-c")
    run("ar", "rcs", folder / "liball.a", *names)
    return folder / "liball.a"


def linked(folder: Path, sum_of_both: int) -> None:
    main = clang_offload(MAIN % sum_of_both, folder / "main.o", "-c")
    done = omptool("link", "--", CLANG, main, folder / "liball.a", "-o", folder / "app")
    assert (done.exit_code, done.output) == (0, "")
    run(folder / "app")


def test_members_that_nothing_needs_are_not_parsed(tmp_path: Path, parsed: list[str]) -> None:
    archive(tmp_path)
    linked(tmp_path, 3)
    assert sorted(filter(None, parsed)) == ["m0.o", "m1.o"]


def test_a_member_that_a_device_needs_is_found(tmp_path: Path, parsed: list[str]) -> None:
    """The host has the function elsewhere, so its link does not take the member."""
    path = archive(tmp_path, "helper")
    (tmp_path / "own.c").write_text("int helper(int x) { return x + 5; }\n")
    run(CLANG, "-c", tmp_path / "own.c", "-o", tmp_path / "own.o")
    main = clang_offload(MAIN % 6, tmp_path / "main.o", "-c")
    words = (CLANG, main, tmp_path / "own.o", path, "-o", tmp_path / "app")
    done = omptool("link", "--", *words)
    assert (done.exit_code, done.output) == (0, "")
    run(tmp_path / "app")
    assert sorted(filter(None, parsed)) == ["helper.o", "m0.o", "m1.o"]


def test_a_damaged_member_is_an_error_if_it_is_needed(tmp_path: Path) -> None:
    path = archive(tmp_path)
    magic, content = b"\x10\xff\x10\xad", bytearray(path.read_bytes())
    at = 0
    for _ in range(6):
        at = content.index(magic, at + 1)
    content[at + 8 : at + 16] = b"\xff" * 8  # the size of the last member's container
    path.write_bytes(content)
    linked(tmp_path, 3)
    content = bytearray(content)
    at = content.index(magic)
    content[at + 8 : at + 16] = b"\xff" * 8
    path.write_bytes(content)
    done = omptool("link", "--", CLANG, tmp_path / "main.o", path, "-o", tmp_path / "app")
    assert done.exit_code == 2
    assert f"{path}(m0.o): section .llvm.offloading: OffloadBinary at" in done.output
