# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shipped libraries without the code for other GPUs: shorter, and they register what is kept."""

from __future__ import annotations

from pathlib import Path

import cuda
import pytest
from field_files import Package, Shipped, unpacked
from machine import output
from next_tools import apply
from shortened import kept, segments, shrunk
from stub_libraries import loaded, stubs

from packager.slimming.elf.packing import size_of

pytestmark = pytest.mark.field
WHEEL = "bitsandbytes==0.50.2"
SHA256 = "55348a9a4a21bfd99cf8c7b32fe67b4030ae5c2a05738e03c1747f65fa6ec283"
FILES = {"cuda128": {90}, "cuda130": {80, 90}}
OVERHEAD = 64 << 10


def shipped(name: str) -> Package:
    """Return a library of bitsandbytes as a package."""
    path = f"bitsandbytes/libbitsandbytes_{name}.so"
    file = Shipped("bitsandbytes", "pip", WHEEL, path, SHA256, "-")
    return Package(file.kind, file.package, file.sha256, (file,))


@pytest.mark.parametrize("name", FILES)
def test_bitsandbytes_registers_what_is_kept(tmp_path: Path, name: str) -> None:
    archs = FILES[name]
    for _, library in unpacked(shipped(name)):
        gone = sum(one.size - size_of(one) for one in kept(library, archs))
        out = tmp_path / library.name
        done = shrunk(library, archs, out)
        assert done.zeroed == ()
        assert done.after == out.stat().st_size <= done.before - gone + OVERHEAD
        assert len(done.holes) == len(segments(out)) - len(segments(library)) == 2
        assert not shrunk(out, archs, out).is_changed
        before = cuda.extracted(library, tmp_path / "before")
        wanted = {d: n for d, n in before.items() if any(f"sm_{arch}." in n for arch in archs)}
        assert cuda.extracted(out, tmp_path / "after").keys() == wanted.keys()
        folder = stubs(library, tmp_path / "stubs")
        text = loaded(out, folder)
        for number, tool in enumerate(("strip", "PyPI rpath", "llvm-strip-19")):
            changed = tmp_path / str(number) / out.name
            changed.parent.mkdir()
            apply(tool, out, changed)
            assert loaded(changed, folder) == text
        assert symbols(out) == symbols(library)


def symbols(path: Path) -> list[str]:
    """Return the dynamic symbols that a library defines."""
    return output("nm", "-D", "--defined-only", path).splitlines()
