# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Edit programs and libraries that others built: add an image, strip, edit again, and revert."""

from __future__ import annotations

from pathlib import Path

import edited
import pytest
from edited import GPU, images
from products import Products
from shipped import defining, does, found, some_symbols
from toolchain import PTX, X86_64, omptool, run

pytestmark = pytest.mark.slow
PROGRAMS = ("bash", "sort", "dash", "grep", "sed", "tar", "gzip", "perl", "find", "git", "gcc-12",
            "as", "make", "xz", "curl", "gdb")  # fmt: skip
LIBRARIES = ("libz.so.1", "libstdc++.so.6", "liblzma.so.5", "libncursesw.so.6", "libbz2.so.1.0",
             "libssl.so.3", "libelf.so.1", "libOpenCL.so.1", "libgomp.so.1",
             "libgcc_s.so.1")  # fmt: skip
WHEELS = (
    "zstandard:zstandard/backend_c.*.so",
    "lz4:lz4/_version.*.so",
    "lz4:lz4/block/*.so",
    "lief:lief/_lief.*so",
    "llvmlite:llvmlite/binding/*.so",
    "mypy:mypy/main.*.so",
)
FEW = {"bash", "libgcc_s.so.1", WHEELS[0], WHEELS[-1]}


def each() -> list[object]:
    """Return the names, of which `make test` tries few."""
    every = [*PROGRAMS, *LIBRARIES, *WHEELS]
    return [name if name in FEW else pytest.param(name, marks=pytest.mark.exhaustive)
            for name in every]  # fmt: skip


@pytest.mark.parametrize("name", each())
def test_it_does_what_it_did(products: Products, tmp_path: Path, name: str) -> None:
    path = found(name, products)
    symbols = some_symbols(path)
    image = defining(symbols, tmp_path / "image.so")
    (tmp_path / "names").write_text("\n".join(symbol.name for symbol in symbols))
    ptx = tmp_path / "gpu.ptx"
    ptx.write_text(PTX)
    given = tmp_path / "given" / path.name
    stages = Stages(tmp_path, path)
    given.parent.mkdir()
    options = ("--image", f"{X86_64}={image}", "--entries", tmp_path / "names", "--force")
    done = omptool("bundle", path, *options, "-o", given)
    assert done.exit_code == 0, done.output
    stages.same(given)
    before = images(given)
    more = stages.edited(given, "--add", f"{GPU}:sm_70={ptx}", "--replace", f"0={ptx}")
    stripped = stages.stripped("strip", more)
    again = stages.edited(stripped, "--remove", "1")
    back = stages.edited(again, "--replace", f"0={image}")
    assert images(back) == before


class Stages:
    """Results in a folder each, so that the file's name stays the same."""

    def __init__(self, folder: Path, origin: Path) -> None:
        self._folder, self._origin = folder, origin
        self._wanted = does(origin, origin)
        self._count = 0

    def same(self, path: Path) -> Path:
        """Check that the file does the same as the shipped one, and return it."""
        assert does(path, self._origin) == self._wanted
        return path

    def edited(self, path: Path, *options: object) -> Path:
        return self.same(edited.edited(path, self._next(), *options))

    def stripped(self, tool: str, path: Path) -> Path:
        out = self._next()
        run(tool, path, "-o", out)
        return self.same(out)

    def _next(self) -> Path:
        self._count += 1
        folder = self._folder / str(self._count)
        folder.mkdir()
        return folder / self._origin.name
