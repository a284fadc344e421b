"""Which address space a file has."""

from __future__ import annotations

from packager.elf import Elf
from packager.memory import Space


def space(elf: Elf) -> Space:
    """The address space of a file. Only the reader that it needs is imported."""
    if elf.is_object:
        from packager.object_space import ObjectSpace

        return ObjectSpace(elf)
    from packager.linked_space import LinkedSpace

    return LinkedSpace(elf)
