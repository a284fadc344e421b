# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CUDA's own tools, which scripts/compilers.sh unpacks: nvcc of one release, and its cuobjdump."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

from clangs import UNPACKED
from machine import lacks
from toolchain import run

TOOLS = UNPACKED / "cuda" / "nvidia" / "cu13" / "bin"
# A processor of each class; "a" code runs on one architecture alone.
SPECIFIC = ("sm_90a", "sm_100a", "sm_103a", "sm_107a", "sm_110a", "sm_120a", "sm_121a")
KERNEL = "__global__ void first(float *p) { *p = 1; }"


def tool(name: str) -> Path:
    """Return the path of a tool; without it, skip the test or fail in CI."""
    path = TOOLS / name
    if not path.exists():
        lacks(f"CUDA's {name} is not here: scripts/compilers.sh unpacks it")
    return path


def code_for(*archs: str) -> list[str]:
    """Return nvcc's options for machine code of each architecture, "sm_90a"."""
    return [f"-gencode=arch={arch.replace('sm', 'compute')},code={arch}" for arch in archs]


def compiled(source: Path, out: Path, *options: str, text: str = KERNEL) -> Path:
    """Compile a source with this text by nvcc."""
    source.write_text(text)
    run(tool("nvcc"), *options, source, "-o", out)
    return out


def extracted(path: Path, folder: Path) -> dict[str, str]:
    """Return the names of the cubins that `cuobjdump -xelf all` extracts, by their digests."""
    folder.mkdir()
    command = [str(tool("cuobjdump")), "-xelf", "all", str(path)]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return {hashlib.sha256(file.read_bytes()).hexdigest(): file.name for file in folder.iterdir()}
