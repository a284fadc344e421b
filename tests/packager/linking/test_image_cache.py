# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool link --cache` joins bitcode again only if what the image depends on has changed."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from fixture_programs import NVPTX
from toolchain import CLANG, omptool, run

from packager.files.cache import CACHE
from packager.linking import bitcode, join_key
from packager.linking.image_cache import ABANDONED, FOLDER, MIB, ImageCache
from packager.lowering.joining.child import run_join

BITCODE = ("-O2", "-fopenmp", f"-fopenmp-targets={NVPTX}", "-Xopenmp-target", "-march=sm_90",
    "-foffload-lto", "-nogpulib", "--cuda-path=/nowhere", "-c")  # fmt: skip
MAIN = "int main(void) { return 0; }\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with two objects, in which the link runs."""
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    monkeypatch.delenv("OMPTOOL_LINK_CACHE", raising=False)
    monkeypatch.chdir(tmp_path)
    compiled(tmp_path, "a", 1)
    compiled(tmp_path, "b", 2)
    return tmp_path


def compiled(folder: Path, name: str, number: int) -> None:
    (folder / f"{name}.c").write_text((MAIN if name == "a" else "") + region(number))
    run(CLANG, *BITCODE, folder / f"{name}.c", "-o", folder / f"{name}.o")


def region(number: int) -> str:
    return f"""void f{number}(int *x) {{
#pragma omp target teams distribute parallel for map(tofrom : x[0 : 64])
  for (int i = 0; i < 64; i++) x[i] += {number};
}}
"""


@pytest.fixture
def joins(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Record the requests that LLVM gets."""
    requests: list[object] = []

    def recorded(request: object, child: object) -> object:
        requests.append(request)
        return run_join(request, child)  # type: ignore[arg-type]

    monkeypatch.setattr(bitcode, "run_join", recorded)
    return requests


def link(*options: object, objects: tuple[str, ...] = ("a.o", "b.o")) -> Result:
    words = (*(options or ("--cache",)), "--ptx")
    done = omptool("link", *words, "--", CLANG, "-fopenmp", *objects, "-o", "app")
    assert done.exit_code == 0, done.output
    return done


def stored(folder: Path) -> list[Path]:
    return sorted((folder / "cache" / FOLDER).iterdir())


def test_the_second_link_needs_no_llvm(folder: Path, joins: list[object]) -> None:
    first = link("--save-temps", "one")
    written = (folder / "app").read_bytes()
    assert not (folder / "cache" / FOLDER).exists()
    for count in (2, 2, 2):
        done = link("--cache", "--save-temps", "one")
        assert done.output == first.output
        assert (folder / "app").read_bytes() == written
        assert len(joins) == count
    (image,) = stored(folder)
    assert image.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("variable", ["", "0"])
def test_without_the_option_nothing_is_kept(
    folder: Path, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMPTOOL_LINK_CACHE", variable)
    link("-O", "2")
    assert not (folder / "cache" / FOLDER).exists()


def test_the_variable_asks_for_it_in_each_command(
    folder: Path, joins: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMPTOOL_LINK_CACHE", "10")
    for _ in range(2):
        link("-O", "2")
    assert len(joins) == 1
    done = omptool("cc", "--ptx", "--", CLANG, "a.o", "b.o", "-o", "app")
    assert done.exit_code == 0, done.output
    assert len(joins) == 1
    monkeypatch.setenv("OMPTOOL_LINK_CACHE", "much")
    done = omptool("link", "--", CLANG, "a.o", "-o", "app")
    assert done.exit_code == 2
    assert "OMPTOOL_LINK_CACHE is 'much': expected a number of MiB" in done.output


def changed_object(folder: Path, _: pytest.MonkeyPatch) -> tuple[object, ...]:
    compiled(folder, "b", 3)
    return ("--cache",)


def level(_: Path, __: pytest.MonkeyPatch) -> tuple[object, ...]:
    return "--cache", "-O", "1"


def library(folder: Path, _: pytest.MonkeyPatch) -> tuple[object, ...]:
    (folder / "library.c").write_text("int helped(void) { return 1; }\n")
    target = ("-target", NVPTX, "-march=sm_90", "-nogpulib", "-emit-llvm", "-c", "-O1")
    run(CLANG, *target, folder / "library.c", "-o", folder / "library.bc")
    return "--cache", "--device-lib", "library.bc"


def code(_: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[object, ...]:
    monkeypatch.setattr(join_key, "state", lambda path: f"newer {path}")
    return ("--cache",)


Change = Callable[[Path, pytest.MonkeyPatch], tuple[object, ...]]


@pytest.mark.parametrize("change", [changed_object, level, library, code])
def test_each_change_joins_again(
    folder: Path, joins: list[object], monkeypatch: pytest.MonkeyPatch, change: Change
) -> None:
    link("--cache")
    options = change(folder, monkeypatch)
    for _ in range(2):
        link(*options)
        assert len(joins) == 2
    assert len(stored(folder)) == 2


def test_other_objects_or_their_order_join_again(folder: Path, joins: list[object]) -> None:
    for count, objects in enumerate((("a.o", "b.o"), ("b.o", "a.o"), ("a.o",)), 1):
        for _ in range(2):
            link(objects=objects)
        assert len(joins) == count


def test_an_assembler_is_known_by_its_release(
    folder: Path, joins: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be a script that starts another one."""
    (folder / "bin").mkdir()
    tool, release = folder / "bin" / "ptxas", folder / "release"
    tool.write_text(f'#!/bin/sh\n[ "$1" != --version ] || exec cat {release}\n'
                    'for out; do :; done\nprintf "\\177ELF" > "$out"\n')  # fmt: skip
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:{os.environ['PATH']}")
    for count, number in enumerate((13, 14), 1):
        release.write_text(f"release {number}")
        for _ in range(2):
            omptool("link", "--cache", "--", CLANG, "-fopenmp", "a.o", "b.o", "-o", "app")
            assert len(joins) == count
    link()
    assert len(joins) == 3  # PTX


@pytest.mark.parametrize("at", [0, 20, 100, -1, None])
def test_a_damaged_image_is_joined_again(folder: Path, joins: list[object], at: int | None) -> None:
    link()
    written = (folder / "app").read_bytes()
    (image,) = stored(folder)
    content = bytearray(image.read_bytes())
    if at is None:
        del content[len(content) // 2 :]
    else:
        content[at] ^= 1
    image.write_bytes(content)
    for _ in range(2):
        link()
        assert len(joins) == 2
        assert (folder / "app").read_bytes() == written


def test_two_builds_at_once(folder: Path) -> None:
    command = ["omptool", "link", "--cache", "--ptx", "--", CLANG, "-fopenmp", "a.o", "b.o", "-o"]
    started = [subprocess.Popen([*command, f"app{number}"]) for number in range(3)]
    assert [process.wait() for process in started] == [0, 0, 0]
    written = {(folder / f"app{number}").read_bytes() for number in range(3)}
    assert len(written) == 1
    assert len(stored(folder)) == 1


def test_a_folder_that_cannot_be_used_is_named(folder: Path, joins: list[object]) -> None:
    images = folder / "cache" / FOLDER
    images.mkdir(parents=True)
    images.chmod(0o777)
    for count in (1, 2):
        assert "Warning: the cache is not used" in link().output
        assert len(joins) == count
    assert stored(folder) == []


def test_a_read_only_folder_stays_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image = tmp_path / "image"
    image.write_bytes(b"bytes")
    cache = ImageCache(tmp_path / "absent", MIB)
    assert cache.take("key", tmp_path / "out") is None
    folder = tmp_path / "images"
    folder.mkdir()
    cache = ImageCache(folder, MIB)

    def refused(*_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as closed:  # root may write to any folder
        closed.setattr(os, "open", refused)
        cache.keep("key", image, {})
    assert cache.take("key", tmp_path / "out") is None
    assert not (tmp_path / "out").exists()


def test_the_size_is_bounded(tmp_path: Path) -> None:
    folder, image, out = tmp_path / "images", tmp_path / "image", tmp_path / "out"
    folder.mkdir()
    cache = ImageCache(folder, 10_000)
    for number in range(6):
        image.write_bytes(bytes([number]) * 3000)
        cache.keep(f"key{number}", image, {"notes": [f"{number}"]})
        past = time.time() - 100 + number
        os.utime(folder / f"key{number}", (past, past))
        if number >= 2:
            assert cache.take("key1", out) == {"notes": ["1"]}  # the one that is used stays
    assert {path.name for path in folder.iterdir()} == {"key1", "key4", "key5"}
    image.write_bytes(bytes(10_001))
    cache.keep("large", image, {})
    assert not (folder / "large").exists()
    for name, age in ((".new.0123456789ab", 0), (".old.0123456789ab", ABANDONED + 1)):
        (folder / name).touch()
        os.utime(folder / name, (time.time() - age,) * 2)
    image.write_bytes(b"bytes")
    cache.keep("key7", image, {})
    assert (folder / ".new.0123456789ab").exists()
    assert not (folder / ".old.0123456789ab").exists()


def test_the_cache_can_be_cleared(folder: Path, joins: list[object]) -> None:
    link()
    done = omptool("link", "--clear-cache")
    assert (done.exit_code, done.output) == (0, "removed 1 cached images of 0.0 MiB\n")
    assert stored(folder) == []
    link()
    assert len(joins) == 2
