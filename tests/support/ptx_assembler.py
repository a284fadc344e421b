# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NVIDIA's ptxas, where it is."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path


def assembles(ptx: Path, arch: str) -> bool:
    """Return whether ptxas accepts the file; true without ptxas."""
    tool = shutil.which("ptxas")
    if not tool:
        return True
    command = [tool, f"-arch={arch}", str(ptx), "-o", str(ptx.with_suffix(".cubin"))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode == 0 and not done.stdout + done.stderr
