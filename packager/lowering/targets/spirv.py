"""spirv64: a SPIR-V module for OpenCL's devices."""

from __future__ import annotations

import re

from packager.lowering.library import math_functions
from packager.lowering.library.device_library import library_of, module_text
from packager.lowering.library.reductions import REDUCTIONS
from packager.lowering.rewriting.atomics import SPIRV_ATOMICS
from packager.lowering.rewriting.printing import PRINTF
from packager.lowering.rewriting.spaces import Spaces
from packager.lowering.targets.family import Family

_LIBRARY = library_of(
    module_text("spirv64"),
    REDUCTIONS,
    math_functions.native(),
    math_functions.by_library(math_functions.of_opencl, "spir_func "),
)

FAMILY = Family(
    triple="spirv64-unknown-unknown",
    default_cpu="",
    llvm_triple="spirv64v1.2-unknown-unknown",  # what OpenCL 2.2 takes
    library=_LIBRARY,
    names=re.compile(r"[\w.$]+", re.ASCII),
    spaces=Spaces(scope="device", variables=1, generic=4, pointer_parameter="i64"),
    kernel_convention="spir_kernel",
    provided=re.compile(
        "|".join(
            [
                rf"{PRINTF}\w+",
                SPIRV_ATOMICS,
                *(name for name in _LIBRARY.parts if name.startswith("_Z")),
            ]
        )
    ),
    renamed=tuple(math_functions.INTRINSICS.items()),
    vectorises=False,  # the driver's compiler does that, for its own device
    prints_constants=True,
)
