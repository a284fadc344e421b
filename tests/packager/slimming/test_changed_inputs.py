# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs with a few wrong fields: an error in one line, or a result with the same kept code.

The same for images that a user names.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from containers import Containers
from mutate import mutated
from places import DATA
from sycl import Part, library, packed, spirv
from toolchain import run
from wrapped import wrapped

from packager.editing.request import Change, parse_named
from packager.errors import PackagerError
from packager.hosts.host_file import open_host
from packager.slimming import removing
from packager.slimming.file import slim_file
from packager.slimming.keeps import named
from packager.slimming.request import Request

KEEPS = ("sm_90", "gfx906", "spir64")
Changing = Callable[[Path, Path, str], None]
FATBIN = DATA / "zstd.fatbin"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Containers:
    return Containers(tmp_path_factory.mktemp("containers"))


def linked(folder: Path, kind: str, image: Path) -> Path:
    run("gcc", "-shared", wrapped(folder, kind, image), "-o", folder / "lib.so")
    return folder / "lib.so"


def sycl(folder: Path, _: Containers) -> Path:
    return library(folder, [Part(spirv("first"), "spir64_gen"), packed(spirv("second"))])


SEEDS: dict[str, Callable[[Path, Containers], Path]] = {
    "cuda": lambda folder, _: linked(folder, "cuda", FATBIN),
    "fatbin": lambda *_: FATBIN,
    "plain": lambda folder, made: linked(folder, "hip", made.bundle("p", *made.images)),
    "bundle": lambda _, made: made.bundle("bare", *made.images),
    "compressed": lambda _, made: made.bundle("c", *made.images, packed=True),
    "offload-binary": lambda _, made: made.packed("o", *made.images),
    "joint": lambda _, made: made.joint("j", *made.images),
    "sycl": sycl,
}


def slim(path: Path, out: Path, what: str) -> None:
    slim_file(path, out, "changed", Request(named([what])))


def remove(path: Path, out: Path, what: str) -> None:
    change = Change(removed=[parse_named(what)])
    with open_host(path) as host:
        if removing.takes(host, change):
            removing.remove(host, change, out, force=True)


def check_changed(seed: Path, folder: Path, count: int, change: Changing) -> int:
    """Change files that differ from a seed in a few fields; return how many were written."""
    data, path, out = seed.read_bytes(), folder / "changed", folder / "out"
    written = 0
    for number in range(count):
        path.write_bytes(mutated(data, random.Random(f"{seed.name} {number}")))
        for what in WORDS[change]:
            out.unlink(missing_ok=True)
            try:
                change(path, out, what)
            except PackagerError:
                continue
            except Exception as error:
                raise AssertionError(f"change {number} of {seed.name}: {error!r}") from error
            written += out.exists()
    return written


WORDS: dict[Changing, tuple[str, ...]] = {slim: KEEPS, remove: ("0", "1")}


@pytest.mark.parametrize("change", WORDS)
@pytest.mark.parametrize("name", SEEDS)
def test_changed_fields(name: str, change: Changing, tmp_path: Path, made: Containers) -> None:
    check_changed(SEEDS[name](tmp_path, made), tmp_path, 15, change)


@pytest.mark.exhaustive
@pytest.mark.parametrize("change", WORDS)
@pytest.mark.parametrize("name", SEEDS)
def test_many_changed_fields(name: str, change: Changing, tmp_path: Path, made: Containers) -> None:
    assert check_changed(SEEDS[name](tmp_path, made), tmp_path, 2000, change) > 0
