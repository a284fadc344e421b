"""The targets that `lower` knows: a new one is a module beside `x86_64` and a place in the list."""

from __future__ import annotations

from packager.errors import UsageError
from packager.lowering.targets import amdgcn, cpus, nvptx, spirv
from packager.lowering.targets.family import Family
from packager.triples import normalise

FAMILIES = (cpus.X86_64, cpus.AARCH64, nvptx.FAMILY, amdgcn.FAMILY, spirv.FAMILY)


def family_of(triple: str) -> Family:
    """The family of a triple in any spelling. Raises UsageError for one that is not built for."""
    wanted = normalise(triple)
    for family in FAMILIES:
        if family.triple == wanted:
            return family
    known = ", ".join(family.triple for family in FAMILIES)
    raise UsageError(f"cannot lower for {wanted}: the targets are {known}")
