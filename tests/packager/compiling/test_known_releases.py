# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A compiler runs once to find its release, as long as it is the same program."""

from __future__ import annotations

from pathlib import Path

import pytest
from toolchain import run

from packager.compiling.compilers import VERSION, release_in
from packager.compiling.known_releases import FOLDER, release_of
from packager.files.cache import CACHE, XDG

SOURCE = """
#include <stdio.h>
int main(void) {
  FILE *log = fopen("%s", "a");
  fputs("asked\\n", log);
  fclose(log);
  puts("clang version %d.1.0");
  return 0;
}
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    return tmp_path / "cache" / FOLDER


def compiler(folder: Path, release: int) -> Path:
    """Make a fake clang that records each query of its release."""
    source, out = folder / "clang.c", folder / "clang"
    source.write_text(SOURCE % (folder / "log", release))
    run("gcc", source, "-o", folder / "new")
    (folder / "new").replace(out)
    return out


def asked(folder: Path, *words: object) -> tuple[int | None, int]:
    """Return the release, and the number of queries so far."""
    command = [str(word) for word in words]
    found = release_of(command, lambda: release_in(command, VERSION))
    log = folder / "log"
    return found, len(log.read_text().splitlines()) if log.exists() else 0


def test_a_program_is_asked_once(tmp_path: Path, cache: Path) -> None:
    clang = compiler(tmp_path, 19)
    assert [asked(tmp_path, clang) for _ in range(3)] == [(19, 1)] * 3
    (tmp_path / "link").symlink_to(clang)
    assert asked(tmp_path, tmp_path / "link") == (19, 1)
    compiler(tmp_path, 22)
    assert [asked(tmp_path, clang) for _ in range(2)] == [(22, 2)] * 2
    assert len(list(cache.iterdir())) in (1, 2)  # a file system may use an inode again


def test_scripts_and_longer_commands_are_asked_each_time(tmp_path: Path, cache: Path) -> None:
    clang = compiler(tmp_path, 19)
    script = tmp_path / "script"
    script.write_text(f'#!/bin/sh\nexec {clang} "$@"\n')
    script.chmod(0o755)
    assert [asked(tmp_path, script) for _ in range(2)] == [(19, 1), (19, 2)]
    assert [asked(tmp_path, "env", clang) for _ in range(2)] == [(19, 3), (19, 4)]
    assert not cache.exists()


@pytest.mark.parametrize("content", [b"", b"\xff" * 9000, b"19", b"other\n12", None])
def test_what_is_no_note_of_ours_is_replaced(
    tmp_path: Path, cache: Path, content: bytes | None
) -> None:
    clang = compiler(tmp_path, 19)
    asked(tmp_path, clang)
    (note,) = cache.iterdir()
    note.write_bytes(note.read_bytes()[:-2] + b"x" if content is None else content)
    assert [asked(tmp_path, clang) for _ in range(2)] == [(19, 2)] * 2


def test_a_folder_of_others_is_not_used(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its owner could write another release; without a folder nothing is cached."""
    clang = compiler(tmp_path, 19)
    cache.mkdir(parents=True)
    cache.chmod(0o777)
    assert [asked(tmp_path, clang) for _ in range(2)] == [(19, 1), (19, 2)]
    monkeypatch.setenv(CACHE, str(clang / "below"))
    assert asked(tmp_path, clang) == (19, 3)
    monkeypatch.delenv(CACHE)
    monkeypatch.setenv(XDG, str(tmp_path / "xdg"))
    assert [asked(tmp_path, clang) for _ in range(2)] == [(19, 4)] * 2
    assert [path.name for path in (tmp_path / "xdg" / "omptool").iterdir()] == [FOLDER]


def test_a_program_that_is_not_there_is_named_as_before(tmp_path: Path, cache: Path) -> None:
    with pytest.raises(Exception, match="missing cannot be started: No such file"):
        asked(tmp_path, tmp_path / "missing")
    assert not cache.exists()
