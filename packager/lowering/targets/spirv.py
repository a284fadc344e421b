# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""spirv64: a SPIR-V module for OpenCL's devices."""

from __future__ import annotations

import re

from packager.lowering.library import math_functions
from packager.lowering.library.device_library import DeviceLibrary, module_text
from packager.lowering.library.reductions import reductions
from packager.lowering.rewriting.atomics import SPIRV_ATOMICS
from packager.lowering.rewriting.printing import PRINTF
from packager.lowering.rewriting.spaces import Spaces
from packager.lowering.targets.family import Family

_LIBRARY = DeviceLibrary(
    lambda: (
        module_text("spirv64"),
        reductions(),
        math_functions.native(),
        math_functions.by_library(math_functions.of_opencl, "spir_func "),
    )
)
# The part that clang's code needs: clang's names, without the routines of portable kernels.
MATHEMATICS = DeviceLibrary(
    lambda: (
        math_functions.native(),
        math_functions.by_library(math_functions.of_opencl, "spir_func "),
    )
)
_OWN = re.compile(rf"{PRINTF}\w+|{SPIRV_ATOMICS}|_Z\d+__spirv_ocl_\w+")


def _provides(name: str) -> bool:
    """Return whether OpenCL's devices have it: mangled names that the library calls are theirs."""
    return bool(_OWN.fullmatch(name)) or (name.startswith("_Z") and name in _LIBRARY.parts)


FAMILY = Family(
    triple="spirv64-unknown-unknown",
    default_cpu="",
    llvm_triple="spirv64v1.2-unknown-unknown",  # the version that OpenCL 2.2 accepts
    library=_LIBRARY,
    names=re.compile(r"[\w.$]+", re.ASCII),
    spaces=Spaces(scope="device", variables=1, generic=4, pointer_parameter="i64"),
    kernel_convention="spir_kernel",
    provides=_provides,
    renamed=tuple(math_functions.INTRINSICS.items()),
    vectorises=False,  # the driver's compiler does that, for its own device
    prints_constants=True,
)
