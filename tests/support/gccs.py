# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GCC's compilers for devices, as the tests call them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from clangs import UNPACKED, libraries, unpacked
from fixture_programs import call
from machine import lacks

NVPTX, GCN = "nvptx-none", "amdgcn-amdhsa"
OPTIONS = {
    NVPTX: "-foffload-options=nvptx-none=-misa=sm_35",
    GCN: "-foffload-options=amdgcn-amdhsa=-march=gfx906",
}


def compiled(source: str, out: Path, *flags: str, targets: Sequence[str] = (NVPTX,)) -> Path:
    """Compile C source to a program, or with "-c" an object, for these kinds of device."""
    path = out.with_suffix(".c")
    path.write_text(source)
    # Hide a ptxas of a newer CUDA on PATH: GCC would use it to check code for architectures that it
    # dropped.
    where = _with_gcn() if GCN in targets else ["PATH=/usr/bin:/bin"]
    offload = [f"-foffload={','.join(targets)}", *(OPTIONS[target] for target in targets)]
    call("env", *where, "gcc-12", "-O1", "-fopenmp", *offload, *flags, path, "-o", out)
    return out


def gcn_plugins() -> Path:
    """Return the folder of libgomp's plugin for AMD's GPUs."""
    return UNPACKED / "gcn" / "usr" / "lib" / "x86_64-linux-gnu"


def _with_gcn() -> list[str]:
    """Return the variables by which gcc finds AMD's compiler and LLVM 14's assembler."""
    unpacked("14")
    usr = UNPACKED / "gcn" / "usr"
    compilers = usr / "lib" / "gcc" / "x86_64-linux-gnu" / "12"
    if not (compilers / "accel" / GCN / "mkoffload").exists():
        lacks("GCC's compiler for AMD's GPUs is not here: scripts/compilers.sh unpacks it")
    search = f"PATH={usr / 'bin'}:/usr/bin:/bin"
    return [search, f"COMPILER_PATH={compilers}", f"LD_LIBRARY_PATH={libraries('14')}"]
