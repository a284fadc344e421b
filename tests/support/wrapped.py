# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Objects that register images with CUDA's and HIP's runtimes, by LLVM's own tool."""

from __future__ import annotations

from pathlib import Path

from clangs import tool
from toolchain import run


def wrapped(folder: Path, kind: str, image: Path, name: str = "wrapped.o") -> Path:
    """Make an object that registers an image, in the form of clang's linker wrapper."""
    words = (f"--kind={kind}", "--triple=x86_64-pc-linux-gnu")
    run(*tool("22", "llvm-offload-wrapper"), *words, "-o", folder / "w.bc", image)
    run(*tool("22"), "-w", "-fPIC", "-c", "-x", "ir", folder / "w.bc", "-o", folder / name)
    return folder / name
