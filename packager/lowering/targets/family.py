# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The differences between target families when a module is lowered."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

from packager.lowering.library.device_library import DeviceLibrary
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
