# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`dump --summary` estimates the result of the plan for the same file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from container_plans import planned
from containers import ARCHS, Containers
from documents import summarised
from fatbins import entry, fatbin
from places import DATA
from toolchain import omptool, run
from wrapped import wrapped

from packager.slimming.keeps import named
from packager.slimming.plan import plan

FATBIN = DATA / "none.fatbin"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Containers:
    return Containers(tmp_path_factory.mktemp("containers"))


def rows(path: Path) -> list[dict[str, Any]]:
    (file,) = summarised(path)
    return list(file["slim"])


def test_a_plain_bundle(made: Containers) -> None:
    path = made.bundle("plain.hipfb", *made.images)
    size = path.stat().st_size
    for row in rows(path):
        found, new = planned(path, row["keep"])
        assert row["left"] == size - sum(share.size for share in found.removed)
        assert abs(row["left"] - len(new[0])) < 200  # of the table
        assert not row["at_least"]
    assert sorted(row["keep"] for row in rows(path)) == sorted(ARCHS)


def test_a_compressed_bundle(made: Containers) -> None:
    """An image compressed alone exceeds its share."""
    path = made.bundle("packed.hipfb", *made.images, packed=True)
    for row in rows(path):
        assert row["at_least"]
        assert row["left"] < len(planned(path, row["keep"])[1][0])
    assert "at least" in omptool("dump", "--summary", path).stdout


def test_a_library(tmp_path: Path, made: Containers) -> None:
    """A fat binary has sm_80, sm_90a and PTX: PTX is removed where a cubin stays."""
    run("gcc", "-shared", wrapped(tmp_path, "cuda", FATBIN), "-o", tmp_path / "lib.so")
    size = (tmp_path / "lib.so").stat().st_size
    found = rows(tmp_path / "lib.so")
    assert [row["keep"] for row in found] == ["sm_80", "sm_90"]
    for row in found:
        going = plan(tmp_path / "lib.so", named([row["keep"]])).removed
        # The estimate counts the headers of removed images.
        assert 0 <= row["left"] - (size - sum(one.size for one in going)) <= 300
        text = " ".join(omptool("dump", "--summary", tmp_path / "lib.so").stdout.split())
        assert f"{row['keep']} {row['left']} " in text.partition("omptool slim:")[2]


def test_nothing_would_go(tmp_path: Path) -> None:
    (tmp_path / "k.fatbin").write_bytes(fatbin(entry(2, bytes(99))))
    assert "omptool slim" not in omptool("dump", "--summary", tmp_path / "k.fatbin").stdout
