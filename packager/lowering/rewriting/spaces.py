# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A target's address spaces: LLVM's numbers of them."""

from __future__ import annotations

from packager.records import NamedTuple

TEAM = 3  # memory of a team: the same number on every GPU


class Spaces(NamedTuple):
    """The places of a module's parts with plain pointers on a GPU. 0: LLVM does it by itself."""

    scope: str  # LLVM's word for what atomic operations are atomic among: the threads of a device
    variables: int = 0  # global variables
    stack: int = 0  # local variables
    generic: int = 0  # pointers that may lead to any of those
    pointer_parameter: str = "ptr"  # a kernel's pointer, as a launch passes it
    has_flat_constants: bool = False  # the value of a constant may be a plain address of a variable

    @property
    def moves_locals(self) -> bool:
        """Return whether the address of a local variable has to be converted to a plain pointer."""
        return self.stack != self.generic
