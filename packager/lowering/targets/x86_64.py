"""x86_64: a shared object that the host plugin loads."""

from __future__ import annotations

import re

from packager.lowering.library.device_library import X86_64
from packager.lowering.targets.family import Family

FAMILY = Family(
    triple="x86_64-pc-linux-gnu",
    default_cpu="x86-64",
    library=X86_64,
    # Version scripts read quotes, braces, wildcards and "@" as their own.
    names=re.compile(r"[\w.$+-]+", re.ASCII),
    kernel_convention="",
    kernels_are_callable=True,
    has_table=True,
    is_linked=True,
)
