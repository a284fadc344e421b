# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""nvptx64: PTX text, whose entry table is the order of its `.entry` functions."""

from __future__ import annotations

import re

from packager.lowering.library import math_functions
from packager.lowering.library.device_library import DeviceLibrary, module_text
from packager.lowering.library.reductions import reductions
from packager.lowering.rewriting.spaces import Spaces
from packager.lowering.targets.family import Family

FAMILY = Family(
    triple="nvptx64-nvidia-cuda",
    # Oldest GPU that CUDA 13 compiles for; the driver compiles its PTX for newer ones.
    default_cpu="sm_75",
    library=DeviceLibrary(
        lambda: (
            module_text("nvptx64"),
            reductions(),
            math_functions.native(),
            math_functions.by_library(math_functions.of_libdevice),
        )
    ),
    names=re.compile(r"[a-zA-Z][\w$]*|[_$][\w$]+", re.ASCII),  # PTX ISA, "Identifiers"
    spaces=Spaces(scope="device"),
    kernel_convention="ptx_kernel",
    is_text=True,
    uses_libdevice=True,
    # CUDA C++ guide, "System calls"
    provides=re.compile("malloc|free|vprintf|__assertfail").fullmatch,
    renamed=tuple(math_functions.INTRINSICS.items()),
)
