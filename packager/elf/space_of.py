# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Choose the address space of a file: linked, or relocatable."""

from __future__ import annotations

from packager.elf.address_space import Space
from packager.elf.headers import Elf


def space(elf: Elf) -> Space:
    """The address space of a file. Only the reader that it needs is imported."""
    if elf.is_object:
        from packager.elf.object_space import ObjectSpace

        return ObjectSpace(elf)
    from packager.elf.linked_space import LinkedSpace

    return LinkedSpace(elf)
