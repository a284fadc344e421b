# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""List the targets that `lower` supports: a new one is a module here and a line in the list."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from packager.errors import UsageError
from packager.lowering.targets.family import Family
from packager.triples import code_of, normalise

# Triple to the module of its family and the name there; only the needed module is imported.
FAMILIES = {
    "x86_64-pc-linux-gnu": ("cpus", "X86_64"),
    "aarch64-unknown-linux-gnu": ("cpus", "AARCH64"),
    "nvptx64-nvidia-cuda": ("nvptx", "FAMILY"),
    "amdgcn-amd-amdhsa": ("amdgcn", "FAMILY"),
    "spirv64-unknown-unknown": ("spirv", "FAMILY"),
}


def family_of(triple: str) -> Family:
    """Return the family of a triple in any spelling. Raises UsageError for an unknown one."""
    normal = normalise(triple)
    wanted = "-".join((code_of(normal), *normal.split("-")[1:]))  # amdgpu9.0a is amdgcn
    if wanted not in FAMILIES:
        known = ", ".join(FAMILIES)
        raise UsageError(f"cannot lower for {wanted}: the targets are {known}")
    module, name = FAMILIES[wanted]
    return cast("Family", getattr(import_module(f"{__package__}.{module}"), name))
