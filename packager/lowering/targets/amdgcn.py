# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""amdgcn: a code object for ROCm, linked by ld.lld."""

from __future__ import annotations

import re

from packager.lowering.library import math_functions
from packager.lowering.library.device_library import DeviceLibrary, module_text
from packager.lowering.library.reductions import reductions
from packager.lowering.rewriting.spaces import Spaces
from packager.lowering.targets.family import Family

VERSION, VERSION_OF_GENERIC = 500, 600  # code object versions; a family of GPUs needs the later one


def _flags(cpu: str) -> str:
    version = VERSION_OF_GENERIC if cpu.endswith("-generic") else VERSION
    flag = f'!{{i32 1, !"amdhsa_code_object_version", i32 {version}}}'
    return f"!llvm.module.flags = !{{!0}}\n!0 = {flag}\n"


FAMILY = Family(
    triple="amdgcn-amd-amdhsa",
    default_cpu="gfx90a",
    library=DeviceLibrary(lambda: (module_text("amdgcn"), reductions(), math_functions.native())),
    names=re.compile(r"[\w.$]+", re.ASCII),
    spaces=Spaces(
        scope="agent",
        variables=1,
        stack=5,
        pointer_parameter="ptr addrspace(1)",
        has_flat_constants=True,
    ),
    kernel_convention="amdgpu_kernel",
    linker="code object",
    # ld.lld defines these symbols.
    provides=re.compile("__(?:init|fini)_array_(?:start|end)").fullmatch,
    renamed=tuple(math_functions.INTRINSICS.items()),
    flags=_flags,
)
