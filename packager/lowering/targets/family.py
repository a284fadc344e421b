"""What tells one target family from another when a module is lowered."""

from __future__ import annotations

import re
from dataclasses import dataclass

from packager.lowering.library.device_library import DeviceLibrary
from packager.lowering.request import Emit


@dataclass(frozen=True)
class Family:
    """One target family, as data."""

    triple: str  # normalised
    default_cpu: str
    library: DeviceLibrary
    names: re.Pattern[str]  # what a name must look like for the image to export it
    kernel_convention: str  # LLVM's word for it, "" for C's
    kernels_are_callable: bool  # by other device code
    has_table: bool  # the image carries the table as data, not as the order of its kernels
    is_linked: bool  # the image is made by a linker from one object file
    provided: tuple[str, ...] = ()  # functions that the loader of the image knows
    no_emit: tuple[tuple[Emit, str], ...] = ()  # what it cannot emit, and why

    @property
    def arch(self) -> str:
        return self.triple.split("-")[0]
