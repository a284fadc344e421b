# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lower for CPUs: to a shared object that the host plugin loads, with the C library."""

from __future__ import annotations

import re

from packager.lowering.library.device_library import DeviceLibrary, module_text
from packager.lowering.library.reductions import reductions
from packager.lowering.targets.family import Family

_LIBRARY = DeviceLibrary(lambda: (module_text("cpu"), reductions()))
# Names without quotes, braces, wildcards and "@", which have a meaning in version scripts.
_NAMES = re.compile(r"[\w.$+-]+", re.ASCII)

X86_64 = Family(
    triple="x86_64-pc-linux-gnu",
    default_cpu="x86-64",
    library=_LIBRARY,
    names=_NAMES,
    spaces=None,
    linker="shared",
)
AARCH64 = Family(
    triple="aarch64-unknown-linux-gnu",
    default_cpu="generic",
    library=_LIBRARY,
    names=_NAMES,
    spaces=None,
    linker="shared",
)
