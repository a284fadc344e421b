# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Intel's driver of OpenCL for CPUs, of PyPI's intel-opencl-rt, and how programs find it."""

from __future__ import annotations

import sys
from pathlib import Path

from machine import lacks

DRIVER = Path(sys.prefix) / "lib" / "libintelocl.so"


def vendors(folder: Path) -> dict[str, str]:
    """Return the environment in which OpenCL's loader finds only this driver."""
    if not DRIVER.exists():
        lacks(f"no {DRIVER}: pip install intel-opencl-rt intel-cmplr-lib-rt")
    folder.mkdir(exist_ok=True)
    (folder / "intel.icd").write_text(f"{DRIVER}\n")
    return {"OCL_ICD_VENDORS": str(folder)}
