# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Choose the address space of a file: linked, or relocatable."""

from __future__ import annotations

from packager.elf.address_space import Space
from packager.elf.headers import Elf


def space(elf: Elf) -> Space:
    """Return the address space of a file; imports only the reader for its kind."""
    if elf.is_object:
        from packager.elf.object_space import ObjectSpace

        return ObjectSpace(elf)
    from packager.elf.linked_space import LinkedSpace

    return LinkedSpace(elf)
