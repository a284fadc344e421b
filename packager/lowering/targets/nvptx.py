"""nvptx64: PTX text, whose entry table is the order of its `.entry` functions."""

from __future__ import annotations

import re

from packager.lowering.library.device_library import NVPTX
from packager.lowering.targets.family import Family

FAMILY = Family(
    triple="nvptx64-nvidia-cuda",
    # The oldest GPU that CUDA 13 still compiles for; newer ones compile the same PTX when loading.
    default_cpu="sm_75",
    library=NVPTX,
    names=re.compile(r"[a-zA-Z][\w$]*|[_$][\w$]+", re.ASCII),  # PTX ISA, "Identifiers"
    kernel_convention="ptx_kernel",
    kernels_are_callable=False,  # a call of a .entry is not PTX
    has_table=False,
    is_linked=False,
    provided=("malloc", "free", "vprintf", "__assertfail"),  # CUDA C++ guide, "System calls"
    no_emit=(("obj", "PTX is text, and only NVIDIA's ptxas makes objects of it"),),
)
