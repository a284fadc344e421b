# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A result whose kept devices would load other code than before is found."""

from __future__ import annotations

from pathlib import Path

import pytest
from container_plans import planned, zeroed
from containers import Containers
from fatbins import entry, fatbin
from toolchain import run
from wrapped import wrapped

from packager.errors import FindingError
from packager.slimming.keeps import named
from packager.slimming.proof import prove

CUDA = fatbin(entry(2, bytes(99)), entry(1, b".version 8.0"), entry(8, bytes(99)))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Containers:
    return Containers(tmp_path_factory.mktemp("containers"))


def library(folder: Path, made: Containers, kind: str) -> Path:
    """Link a library with one container."""
    if kind == "cuda":
        image = folder / "k.fatbin"
        image.write_bytes(CUDA)
    else:
        image = made.bundle("k", *made.images, packed=kind == "compressed")
    first = wrapped(folder, "cuda" if kind == "cuda" else "hip", image)
    run("gcc", "-shared", first, "-o", folder / "lib.so")
    return folder / "lib.so"


def result(path: Path, keep: str) -> Path:
    """Write the result, in which removed bytes are zeros."""
    plan, _ = planned(path, keep)
    out = path.with_name("slim.so")
    out.write_bytes(zeroed(path.read_bytes(), plan.rewrites))
    return out


@pytest.mark.parametrize("kind", ["cuda", "plain", "compressed"])
def test_the_same_code(tmp_path: Path, made: Containers, kind: str) -> None:
    path = library(tmp_path, made, kind)
    keep = "sm_90" if kind == "cuda" else "gfx906"
    out = result(path, keep)
    assert out.read_bytes() != path.read_bytes()
    prove(path, out, named([keep]))
    prove(path, path, named([keep]))


@pytest.mark.parametrize("kind", ["cuda", "plain", "compressed"])
def test_other_code(tmp_path: Path, made: Containers, kind: str) -> None:
    """The result is for another device than the requested one."""
    path = library(tmp_path, made, kind)
    out = result(path, "gfx90a")
    keep = "sm_90" if kind == "cuda" else "gfx906"
    with pytest.raises(FindingError, match=f"{keep} would load other code of container 0 at 0x"):
        prove(path, out, named([keep]))


def test_a_byte_of_an_image(tmp_path: Path, made: Containers) -> None:
    path = library(tmp_path, made, "plain")
    out = result(path, "gfx906")
    data = bytearray(out.read_bytes())
    data[data.rindex(b"\x7fELF") + 100] ^= 1
    out.write_bytes(data)
    with pytest.raises(FindingError, match="gfx906 would load other code"):
        prove(path, out, named(["gfx906"]))


def test_an_entry_that_must_stay(tmp_path: Path, made: Containers) -> None:
    path = library(tmp_path, made, "cuda")
    without = fatbin(entry(2, bytes(99)))
    data = path.read_bytes()
    other = tmp_path / "other.so"
    other.write_bytes(data.replace(CUDA, without.ljust(len(CUDA), b"\0")))
    with pytest.raises(FindingError, match=r"an image of container 0 at \w+ is lost"):
        prove(path, other, named(["sm_90"]))


def test_a_container_that_is_gone(tmp_path: Path, made: Containers) -> None:
    path = library(tmp_path, made, "cuda")
    other = tmp_path / "other.so"
    other.write_bytes(path.read_bytes().replace(CUDA[:8], bytes(8)))
    with pytest.raises(FindingError, match="has 0 containers of device code, and the file has 1"):
        prove(path, other, named(["sm_90"]))


@pytest.mark.parametrize("number", [0, 1])
def test_other_code_of_either_half(
    tmp_path: Path, made: Containers, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """A child process compares one half of many containers; its error is raised, too."""
    monkeypatch.setattr("packager.slimming.proof.MANY", 0)
    monkeypatch.setattr("packager.processes.forked._can_fork", lambda: True)
    image = tmp_path / "k.fatbin"
    image.write_bytes(CUDA)
    parts = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        parts.append(wrapped(tmp_path / name, "cuda", image))
    run("gcc", "-shared", *parts, "-o", tmp_path / "lib.so")
    path = tmp_path / "lib.so"
    prove(path, path, named(["sm_90"]))
    content = path.read_bytes()
    at = content.index(CUDA) if number == 0 else content.rindex(CUDA)
    changed = bytearray(content)
    changed[at + len(fatbin(entry(2, bytes(99)))) - 1] ^= 1  # the end of the cubin
    (tmp_path / "changed.so").write_bytes(changed)
    with pytest.raises(FindingError, match=f"of container {number} at"):
        prove(path, tmp_path / "changed.so", named(["sm_90"]))
