# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A clang driver answers once with its linker's line; later links start the linker itself."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from toolchain import CLANG, clang_offload, run

from packager.files.cache import CACHE
from packager.linking.linker_lines import FOLDER, linker_line
from packager.linking.tools import LinkError, Tools

# A driver that records its start, and answers -### as clang does.
DRIVER = r"""
#include <stdio.h>
#include <string.h>
int main(int count, char **words) {
  FILE *log = fopen("%(log)s", "a");
  fprintf(log, "%%s\n", words[count - 1]);
  fclose(log);
  fputs("clang version 19.1.0\n%(says)s", stderr);
  fputs(" \"/usr/bin/ld\" \"$quoted\\\"\"", stderr);
  for (int at = 1; at < count; ++at)
    if (strcmp(words[at], "-###") != 0)
      fprintf(stderr, " \"%%s\"", words[at]);
  fputs("\n", stderr);
  return 0;
}
"""
LINKED = "int main(void) { return 0; }\n"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    return tmp_path / "cache" / FOLDER


class Driver:
    """A fake clang in a folder, with the number of its starts."""

    def __init__(self, folder: Path, says: str = "") -> None:
        self.folder, self._log, self.path = folder, folder / "log", folder / "clang"
        self._log.touch()
        self.replace(says)

    def replace(self, says: str) -> None:
        source = self.folder / "driver.c"
        source.write_text(DRIVER % {"log": self._log, "says": says})
        run("gcc", source, "-o", self.folder / "new")
        (self.folder / "new").replace(self.path)

    def line(self, *words: str, **variables: str) -> list[str] | None:
        """Return the line of the driver's linker."""
        environment = {**os.environ, **variables}
        place = self.folder / "temporary"
        place.mkdir(exist_ok=True)
        found = linker_line([str(self.path), *words], place, environment)
        assert list(place.iterdir()) == []
        return found

    @property
    def starts(self) -> int:
        return len(self._log.read_text().splitlines())


@pytest.fixture
def driver(tmp_path: Path) -> Driver:
    return Driver(tmp_path)


BEGIN = ["/usr/bin/ld", '$quoted"']


def test_other_objects_and_outputs_need_no_driver(driver: Driver, cache: Path) -> None:
    temporary = driver.folder / "temporary"
    for out, objects in (("x", ("a.o",)), ("y", ("a.o", "b.o")), (f"{temporary}/z", ("c d.o",))):
        words = ["-O2", *objects, f"-Map={temporary}/map", "-o", out, "-lm", *objects]
        assert driver.line(*words) == [*BEGIN, *words]
        assert driver.starts == 1
    assert len(list(cache.iterdir())) == 1
    assert driver.line("a.o", "-lm", "b.o", "-o", "x") == [*BEGIN, "a.o", "-lm", "b.o", "-o", "x"]
    assert driver.starts == 2


def test_each_change_of_what_a_line_depends_on_asks_again(driver: Driver) -> None:
    words = ["a.o", "-o", "x", "-L/usr/lib/x86_64-linux-gnu"]
    expected = 0
    changes: list[dict[str, str]] = [
        *({}, {"LIBRARY_PATH": "/x"}, {"CCC_OVERRIDE_OPTIONS": "#"}, {"PATH": "/bin"})
    ]
    for variables in changes:
        for _ in range(2):
            assert driver.line(*words, **variables)
        expected += 1
        assert driver.starts == expected, variables
    for _ in range(2):
        assert driver.line("-O1", *words)
    assert driver.starts == expected + 1
    driver.replace("")
    assert driver.line(*words)
    assert driver.starts == expected + 2


def test_a_new_program_on_path_asks_again(
    driver: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    for _ in range(2):
        assert driver.line("a.o", "-o", "x")
    assert driver.starts == 1
    (programs / "ld").touch()
    assert driver.line("a.o", "-o", "x")
    assert driver.starts == 2


def test_relative_folders_of_the_driver_depend_on_the_current_one(
    driver: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for starts, option in ((1, "-Bsymbolic"), (3, "--sysroot=root")):
        for folder in ("one", "two"):
            (tmp_path / folder).mkdir(exist_ok=True)
            monkeypatch.chdir(tmp_path / folder)
            assert driver.line("a.o", option, "-o", "x")
        assert driver.starts == starts


@pytest.mark.parametrize(
    "words",
    [
        ("a.o", "-o", "x", "-v"),
        ("a.o", "-o", "x", "-###"),
        ("a.o", "-o", "x", "-save-temps"),
        ("a.o", "-o", "x", "-Map=-"),
        ("a.o", "-o", "x", "--trace"),
        ("a.o", "-o", "x", "-plugin"),
        ("a.o",),
    ],
)
def test_a_driver_that_does_more_runs_each_time(driver: Driver, words: tuple[str, ...]) -> None:
    assert [driver.line(*words) for _ in range(2)] == [None, None]
    assert driver.starts <= 1  # the refusal is cached, too


@pytest.mark.parametrize(
    "says", [r"clang: warning: unused\n", r" \"other\"\n", r" \"open\n", r"error: no such file\n"]
)
def test_a_driver_that_prints_more_runs_each_time(tmp_path: Path, says: str) -> None:
    assert Driver(tmp_path, says).line("a.o", "-o", "x") is None


def test_words_with_the_marks_of_the_cache_are_refused(driver: Driver) -> None:
    for word in ("a\1.o", "a\2", "a\nb"):
        assert driver.line("a.o", word, "-o", "x") is None
    assert driver.line("a.o", "-o", "x", LIBRARY_PATH="a\nb") is None
    assert driver.starts == 0


@pytest.mark.parametrize("place", [0, 100, -60, -9, -1])
def test_a_damaged_file_is_replaced(driver: Driver, cache: Path, place: int) -> None:
    words = ["a.o", "-o", "x"]
    line = driver.line(*words)
    (file,) = cache.iterdir()
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    for damaged in (bytes(content), file.read_bytes()[:place], b"", b"\2\2\2"):
        before = driver.starts
        file.write_bytes(damaged)
        assert [driver.line(*words) for _ in range(2)] == [line, line]
        assert driver.starts == before + 1


def test_without_a_cache_the_driver_runs(
    driver: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE, str(driver.path / "below"))
    assert driver.line("a.o", "-o", "x") is None
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    script = tmp_path / "script" / "clang"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec {driver.path} "$@"\n')
    script.chmod(0o755)
    for other in (str(script), "gcc", "missing"):
        assert linker_line([other, "a.o", "-o", "x"], tmp_path, os.environ) is None
    assert driver.starts == 0


@pytest.fixture
def objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "good.c").write_text(LINKED)
    (tmp_path / "bad.c").write_text("int absent(void);\nint main(void) { return absent(); }\n")
    for name in ("good", "bad"):
        run(CLANG, "-c", tmp_path / f"{name}.c", "-o", tmp_path / f"{name}.o")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_link_prints_and_writes_as_with_the_driver(
    objects: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    tools = Tools(tmp_path)
    for words in (
        ("good.o", "-o", "out"),
        ("good.o", "-o", "out", "-Wl,-z,unknown"),
        ("bad.o", "-o", "out"),
        ("missing.o", "-o", "out"),
        ("good.o", "-o", "absent/out"),
        ("good.o", "-o", "out", "-Wl,--trace"),
        ("good.o", "-o", "out", "-lmissing"),
        ("good.o", "-o", "out", "-fsanitizer"),
    ):
        results = []
        for link in (subprocess.call, tools.link, tools.link):
            (tmp_path / "out").unlink(missing_ok=True)
            code = link([CLANG, *words])
            out = tmp_path / "out"
            results.append((code, capfd.readouterr(), out.read_bytes() if out.exists() else None))
        assert results[0] == results[1] == results[2], words


def test_a_device_link_fails_as_with_the_driver(objects: Path, tmp_path: Path) -> None:
    tools = Tools(tmp_path)
    command = [CLANG, "bad.o", "-o", "out"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    for _ in range(2):
        with pytest.raises(LinkError) as caught:
            tools.run(command, "a device")
        assert caught.value.exit_code == done.returncode
        assert caught.value.said == done.stderr.strip()


def test_a_program_links_without_the_driver(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program has the bytes that the driver's link gives."""
    source = "int main(void) {\n  int x = 1;\n#pragma omp target map(tofrom : x)\n  x = 0;\n"
    built = clang_offload(source + "  return x;\n}\n", tmp_path / "program.o", "-c")
    out = tmp_path / "out"
    written = []
    for place in (cache.parent, cache.parent, built / "no folder"):
        monkeypatch.setenv(CACHE, str(place))
        run("omptool", "link", "--", CLANG, built, "-o", out)
        written.append(out.read_bytes())
    assert written[0] == written[1] == written[2]
    assert len(list(cache.iterdir())) == 2  # of the image and of the program
