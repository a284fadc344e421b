# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NVIDIA's library of mathematical functions, libdevice.10.bc, where the machine has it."""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from packager.processes.programs import which

_NAME = "libdevice.10.bc"
_BELOW = ("nvvm/libdevice", "libdevice")
_USUAL = ("/usr/local/cuda", "/opt/cuda", "/usr/lib/cuda", "/usr/lib/nvidia-cuda-toolkit")


def libdevice() -> Path | None:
    """Return libdevice of $CUDA_HOME, the ptxas on PATH, usual places or a PyPI package; or None.

    The plugins' cache hashes all of them (runtime/plugins/compile/device_library.cpp).
    """
    for folder in _toolkits():
        for below in _BELOW:
            file = folder / below / _NAME
            if file.is_file():
                return file
    return None


def _toolkits() -> Iterator[Path]:
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(variable):
            yield Path(os.environ[variable])
    tool = which("ptxas")
    if tool:
        yield Path(tool).resolve().parents[1]
    for usual in _USUAL:
        yield Path(usual)
    yield from sorted(Path("/usr/local").glob("cuda-*"), reverse=True)
    packages = Path(sysconfig.get_path("purelib")) / "nvidia"
    yield from sorted(packages.glob("cu*"), reverse=True)
