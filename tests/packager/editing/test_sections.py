# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sections as other tools make them."""

from __future__ import annotations

from pathlib import Path

import clangs
import edited
import pytest
from products import Products
from toolchain import run

from packager.elf import headers
from packager.files.reader import open_reader

pytestmark = pytest.mark.slow


def content(path: Path, name: str) -> bytes:
    """Return the bytes of a section."""
    with open_reader(path) as data:
        elf = headers.read(data)
        (section,) = (s for s in elf.sections if s.name == name)
        return elf.content(section).bytes()


def test_sections_in_no_segment_are_taken_along(products: Products, tmp_path: Path) -> None:
    """objcopy's claim to be loaded; llvm-strip puts empty ones where the next edit cuts."""
    app = edited.program(products, "19", "pie")
    own, large = app.with_name("own.so"), app.with_name("large.so")
    for name in ("kept", "empty"):
        (tmp_path / name).write_text(name if name == "kept" else "")
    added = [f"--add-section=.{name}={tmp_path / name}" for name in ("kept", "empty")]
    claims = [f"--set-section-flags=.{name}=alloc,readonly" for name in ("kept", "empty")]
    run("objcopy", *added, *claims, app, tmp_path / "app")
    out = edited.edited(tmp_path / "app", tmp_path / "out", "--replace", f"0={large}")
    assert content(out, ".kept") == b"kept"
    stripped = edited.stripped(out, "llvm-strip-19")
    back = edited.edited(stripped, tmp_path / "back", "--replace", f"0={own}")
    assert [data for _, data in edited.images(back)] == [own.read_bytes()]
    assert content(back, ".kept") == b"kept"
    assert edited.on_llvms(back, "19") == edited.ON_DEVICE


def test_an_image_stays_beside_one_that_goes(products: Products, tmp_path: Path) -> None:
    """clang has all in one section, which lld puts where program headers need room."""

    def make(folder: Path) -> Path:
        targets = "-fopenmp-targets=x86_64-pc-linux-gnu,x86_64-redhat-linux-gnu"
        flags = ("-O1", "-fopenmp", targets, *edited.LINKS["lld"])
        run(*clangs.tool("19"), *flags, edited.REGION, "-o", folder / "app")
        return folder / "app"

    app = products.made("edited-two-images", make)
    first, last = edited.images(app)
    (tmp_path / "last").write_bytes(last[1])
    out = edited.edited(app, tmp_path / "out", "--remove", "1")
    assert edited.images(out) == [first]
    back = edited.edited(out, out, "--add", f"{last[0]}={tmp_path / 'last'}")
    assert edited.images(back) == [first, last]
    assert edited.on_llvms(back, "19") == edited.ON_DEVICE
    none = edited.edited(app, tmp_path / "none", "--remove", "0", "--remove", "1")
    assert edited.images(none) == []
    refilled = edited.edited(none, none, "--add", f"{last[0]}={tmp_path / 'last'}")
    assert edited.on_llvms(refilled, "19") == edited.ON_DEVICE
