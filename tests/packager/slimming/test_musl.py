# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs and libraries of musl, whose loader and headers are not glibc's."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from machine import lacks, output
from products import Products
from shortened import SOURCE, expected, program, shrunk

LOADER = """
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **words) {
  if (dlopen(words[1], RTLD_NOW))
    return 0;
  puts(dlerror());
  return count;
}
"""
CUT = {"dynamic": (), "library": ("-shared", "-fPIC")}
ZEROED = {"static": ("-static",), "static-no-pie": ("-static", "-no-pie")}


@pytest.mark.slow
@pytest.mark.parametrize("link", [*CUT, *ZEROED])
def test_it_runs_as_before(products: Products, tmp_path: Path, link: str) -> None:
    if not shutil.which("musl-gcc"):
        lacks("musl-gcc is not here: scripts/packages.txt has its package")
    blobs = program(products, "pie").parent
    app, out, run = tmp_path / "app", tmp_path / "out", []
    options = {**CUT, **ZEROED}[link]
    output("musl-gcc", "-O1", *options, f"-DBLOBS={blobs}", SOURCE, "-o", app)
    if link == "library":
        (tmp_path / "load.c").write_text(LOADER)
        output("musl-gcc", tmp_path / "load.c", "-o", tmp_path / "load")
        run = [tmp_path / "load"]
    done = shrunk(app, {90}, out)
    assert (len(done.holes), len(done.zeroed)) == ((1, 0) if link in CUT else (0, 1))
    assert output(*run, out) == expected(output(*run, app), {90})
