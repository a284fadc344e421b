# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The loader of OpenCL's drivers whose calls fail (runtime/tests/support/fakes/opencl)."""

from __future__ import annotations

from pathlib import Path

from fixture_programs import call
from places import ROOT
from products import Products

WARNINGS = ("-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror")


def loader(products: Products) -> Path:
    """Return the folder of the failing libOpenCL.so.1."""
    return products.made("failing-opencl-loader", _build)


def _build(folder: Path) -> Path:
    runtime = ROOT / "runtime"
    source = runtime / "tests" / "support" / "fakes" / "opencl" / "failing_loader.cpp"
    flags = ("-std=c++20", "-shared", "-fPIC", "-fvisibility=hidden", *WARNINGS)
    include = f"-I{runtime / 'plugins' / 'opencl'}"
    call("g++", *flags, include, source, "-o", folder / "libOpenCL.so.1")
    return folder
