# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that are sequences of containers get shorter by the removed code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from container_plans import planned
from containers import Containers
from documents import dumped_files, dumped_images
from places import DATA
from toolchain import omptool

from packager.slimming.file import slim_file
from packager.slimming.keeps import named
from packager.slimming.request import Request


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Containers:
    return Containers(tmp_path_factory.mktemp("containers"))


def hashed(path: Path) -> list[dict[str, Any]]:
    """Return the images of a file, with their hashes."""
    (file,) = dumped_files("--hash", path)
    return list(file["images"])


def slimmed(path: Path, out: Path, keep: str, *, zero: bool = False) -> None:
    done = slim_file(path, out, path.name, Request(named([keep]), zero=zero))
    assert done is not None
    assert (done.is_changed, done.notes) == (True, ())
    assert out.stat().st_size == done.after
    again = slim_file(out, None, out.name, Request(named([keep])))
    assert again is not None
    assert not again.is_changed


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("kind", ["plain", "compressed", "offload-binary", "fatbin"])
def test_a_bare_file(tmp_path: Path, made: Containers, kind: str, count: int) -> None:
    first = {
        "plain": lambda: made.bundle("p", *made.images),
        "compressed": lambda: made.bundle("c", *made.images, packed=True),
        "offload-binary": lambda: made.packed("o", *made.images),
        "fatbin": lambda: DATA / "none.fatbin",
    }[kind]()
    keep = "sm_80" if kind == "fatbin" else "gfx906"
    data = first.read_bytes()
    unit = 8 if kind in ("fatbin", "offload-binary") else 4096
    padded = data + bytes(-len(data) % unit)
    path = tmp_path / "bare"
    path.write_bytes(padded * (count - 1) + data)
    out = tmp_path / "out"
    slimmed(path, out, keep)
    before = [i for i in hashed(path) if i["arch"] == keep]
    after = hashed(out)
    assert [i["sha256"] for i in after] == [i["sha256"] for i in before]
    assert len(after) == count
    new = sum(len(one) for one in planned(path, keep)[1])
    assert new <= out.stat().st_size <= new + (count - 1) * unit
    assert omptool("verify", out).exit_code == omptool("verify", path).exit_code


def test_zeros_alone(tmp_path: Path) -> None:
    path = DATA / "none.fatbin"
    slimmed(path, tmp_path / "out", "sm_80", zero=True)
    assert (tmp_path / "out").stat().st_size == path.stat().st_size
    assert [image["arch"] for image in dumped_images(tmp_path / "out")] == ["sm_80"]
