# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write kernel names in tables: demangled, and no wider than the terminal."""

from __future__ import annotations

import sys

from packager.naming.demangle import LIBRARY, MANGLED, demangled, is_possible
from packager.naming.kernel_names import decode, gcc_function
from packager.naming.region_names import short_name


def source(name: str) -> str | None:
    """Return mangled function and line of a kernel of clang's, function of one of GCC's."""
    decoded = decode(name)
    return gcc_function(name) if decoded is None else str(decoded)


def spelled(name: str) -> str | None:
    """Return a mangled kernel's short name, or a variable as its source spells it; None if the
    name itself does.
    """
    decoded = decode(name)
    function = decoded.function if decoded else name
    if demangled(function) == function:
        return None
    return short_name(name) or demangled(name)


def remark(names: list[str]) -> str:
    """Return a note that names stay mangled, if there is no demangler for them; "" otherwise."""
    is_needed = any(name.startswith(MANGLED) for name in names)
    return "" if not is_needed or is_possible() else f"names are mangled: {LIBRARY} is not found"


def terminal_width() -> int | None:
    """The width of the terminal that is printed on; None elsewhere."""
    if not sys.stdout.isatty():
        return None
    import shutil  # slow to load

    return shutil.get_terminal_size().columns
