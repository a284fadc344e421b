# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A product that tests share is made once, and one that could not be made is tried again."""

from __future__ import annotations

import os
from multiprocessing import get_context
from pathlib import Path

import pytest
from products import Products


def slowly(folder: Path) -> Path:
    with (folder.parent / "makers").open("a") as makers:
        makers.write(f"{os.getpid()}\n")
    return folder / "product"


def worker(root: Path) -> Path:
    return Products(root).made("thing", slowly)


def test_workers_that_come_at_once_make_it_once(tmp_path: Path) -> None:
    root = tmp_path / "products"
    with get_context("spawn").Pool(4) as pool:
        products = pool.map(worker, [root] * 8, chunksize=1)
    assert set(products) == {root / "thing" / "product"}
    assert len((root / "makers").read_text().splitlines()) == 1


def test_what_failed_is_tried_again(tmp_path: Path) -> None:
    products = Products(tmp_path / "products")

    def fail(folder: Path) -> None:
        (folder / "left").touch()
        raise ValueError("no disk")

    with pytest.raises(ValueError, match="no disk"):
        products.made("thing", fail)
    folder = products.folder("thing", lambda folder: (folder / "whole").touch())
    assert [path.name for path in folder.iterdir()] == ["whole"]


def test_a_copy_is_made_again_when_a_file_it_is_made_from_is_another(tmp_path: Path) -> None:
    products = Products(tmp_path / "products")
    source, makers = tmp_path / "source", []

    def make(out: Path) -> None:
        makers.append(out)
        out.write_text(source.read_text())

    source.write_text("one")
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        out = products.copied(tmp_path / name / "out", ["make", str(source)], make)
        assert (out, out.read_text()) == (tmp_path / name / "out", "one")
    assert len(makers) == 1
    source.write_text("two")
    out = products.copied(tmp_path / "a" / "out", ["make", str(source)], make)
    assert out.read_text() == "two"
    assert len(makers) == 2
