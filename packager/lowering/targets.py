# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The targets that `lower` supports: what each needs when a module is lowered, as data."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

from packager.errors import UsageError
from packager.lowering.library import math_functions
from packager.lowering.library.device_library import DeviceLibrary, module_text
from packager.lowering.library.reductions import reductions
from packager.lowering.rewriting.atomics import SPIRV_ATOMICS
from packager.lowering.rewriting.printing import PRINTF
from packager.lowering.rewriting.spaces import Spaces
from packager.records import NamedTuple
from packager.triples import code_of, normalise

# Linker of an image: the host's, LLVM's for code objects, or none.
Linker = Literal["shared", "code object", ""]

_NONE = re.compile(r"(?!)")


def _no_flags(_: str) -> str:
    return ""


class Family(NamedTuple):
    """One target family, as data."""

    triple: str  # normalised
    default_cpu: str
    library: DeviceLibrary
    names: re.Pattern[str]  # names that an image can export
    spaces: Spaces | None  # how a GPU's memory is addressed; None: a CPU
    kernel_convention: str = ""  # LLVM's word for it, "" for C's
    linker: Linker = ""
    is_text: bool = False  # LLVM writes assembly
    llvm_triple: str = ""  # triple for LLVM, if it needs more
    # Returns whether LLVM or the image's loader defines a function.
    provides: Callable[[str], object] = _NONE.fullmatch
    renamed: tuple[tuple[str, str], ...] = ()  # LLVM's intrinsics that are functions of the library
    # Returns a module with the module flags that a processor needs.
    flags: Callable[[str], str] = _no_flags
    vectorises: bool = True
    uses_libdevice: bool = False  # NVIDIA's library of mathematical functions
    prints_constants: bool = False  # printf's format is a constant in a memory of its own

    @property
    def arch(self) -> str:
        return self.triple.split("-")[0]

    def is_of(self, triple: str) -> bool:
        """Return whether `triple` is of this architecture as LLVM spells it (spirv64v1.2 too)."""
        return code_of(normalise(triple)).startswith(self.arch)

    @property
    def has_table(self) -> bool:
        """Return whether the image has its entry table as data; a GPU's is the order of kernels."""
        return self.spaces is None


# Shared objects that the host plugin loads, with the C library.
_CPU_LIBRARY = DeviceLibrary(lambda: (module_text("cpu"), reductions()))
# Names without quotes, braces, wildcards and "@", which have a meaning in version scripts.
_CPU_NAMES = re.compile(r"[\w.$+-]+", re.ASCII)

X86_64 = Family(
    triple="x86_64-pc-linux-gnu",
    default_cpu="x86-64",
    library=_CPU_LIBRARY,
    names=_CPU_NAMES,
    spaces=None,
    linker="shared",
)
AARCH64 = Family(
    triple="aarch64-unknown-linux-gnu",
    default_cpu="generic",
    library=_CPU_LIBRARY,
    names=_CPU_NAMES,
    spaces=None,
    linker="shared",
)

# PTX text, whose entry table is the order of its `.entry` functions.
NVPTX64 = Family(
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

# A code object for ROCm, linked by ld.lld. Code for a family of GPUs needs the later version.
_VERSION, _VERSION_OF_GENERIC = 500, 600


def _code_object_version(cpu: str) -> str:
    version = _VERSION_OF_GENERIC if cpu.endswith("-generic") else _VERSION
    flag = f'!{{i32 1, !"amdhsa_code_object_version", i32 {version}}}'
    return f"!llvm.module.flags = !{{!0}}\n!0 = {flag}\n"


AMDGCN = Family(
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
    flags=_code_object_version,
)

# A SPIR-V module for OpenCL's devices.
_SPIRV_LIBRARY = DeviceLibrary(
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
_OF_OPENCL = re.compile(rf"{PRINTF}\w+|{SPIRV_ATOMICS}|_Z\d+__spirv_ocl_\w+")


def _is_opencls(name: str) -> bool:
    """Return whether OpenCL's devices have it: mangled names that the library calls are theirs."""
    return bool(_OF_OPENCL.fullmatch(name)) or (
        name.startswith("_Z") and name in _SPIRV_LIBRARY.parts
    )


SPIRV64 = Family(
    triple="spirv64-unknown-unknown",
    default_cpu="",
    llvm_triple="spirv64v1.2-unknown-unknown",  # the version that OpenCL 2.2 accepts
    library=_SPIRV_LIBRARY,
    names=re.compile(r"[\w.$]+", re.ASCII),
    spaces=Spaces(scope="device", variables=1, generic=4, pointer_parameter="i64"),
    kernel_convention="spir_kernel",
    provides=_is_opencls,
    renamed=tuple(math_functions.INTRINSICS.items()),
    vectorises=False,  # the driver's compiler does that, for its own device
    prints_constants=True,
)

FAMILIES = {family.triple: family for family in (X86_64, AARCH64, NVPTX64, AMDGCN, SPIRV64)}


def family_of(triple: str) -> Family:
    """Return the family of a triple in any spelling. Raises UsageError for an unknown one."""
    normal = normalise(triple)
    wanted = "-".join((code_of(normal), *normal.split("-")[1:]))  # amdgpu9.0a is amdgcn
    if wanted not in FAMILIES:
        known = ", ".join(FAMILIES)
        raise UsageError(f"cannot lower for {wanted}: the targets are {known}")
    return FAMILIES[wanted]
