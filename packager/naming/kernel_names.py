# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parse clang's names of kernels: `__omp_offloading_<device>_<inode>_<function>_l<line>`.

Device and inode are those of the source file, in hexadecimal; those of constructors of device
variables end in `_ctor`, of destructors in `_dtor`, of a second region of one line in a number.
"""

from __future__ import annotations

from packager.patterns import pattern
from packager.records import NamedTuple

_NAME = pattern(
    r"__omp_offloading__?([0-9a-f]{1,16})_([0-9a-f]{1,16})_(.+)_l([0-9]{1,10})"
    r"(?:_([0-9]{1,10}|ctor|dtor))?(?:_debug__)?"
)
# GCC's kernel names: function and number, joined by dots, or by dollars where names cannot have
# dots.
_GCC = pattern(r"(.+)[.$]_omp_fn[.$][0-9]+")


class KernelName(NamedTuple):
    """A kernel's place in its source."""

    device: int
    inode: int
    function: str  # mangled, as in the name
    line: int
    suffix: str  # "", "ctor", "dtor", or a number

    def __str__(self) -> str:
        suffix = f" ({self.suffix})" if self.suffix else ""
        return f"{self.function}:{self.line}{suffix}"


def decode(name: str) -> KernelName | None:
    """Parse a kernel's name; None if clang did not make it."""
    found = _NAME.fullmatch(name)
    if not found:
        return None
    device, inode, function, line, suffix = found.groups()
    return KernelName(int(device, 16), int(inode, 16), function, int(line), suffix or "")


def gcc_function(name: str) -> str | None:
    """Return the function of a kernel name of GCC's; None for any other name."""
    found = _GCC.fullmatch(name)
    return found[1] if found else None
