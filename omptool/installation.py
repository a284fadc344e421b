# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Find the native runtime: beside this package, in a wheel and in an editable install."""

from __future__ import annotations

from pathlib import Path

import omptool
from packager.errors import MissingToolError

LIBRARY = "libomptarget.so"
OBSERVERS = "libomptool_observe.so"


def runtime_root() -> Path:
    """Return the folder of lib/ and include/. Raises MissingToolError without a runtime."""
    for place in omptool.__path__:  # an editable install has two: sources and build
        root = Path(place) / "_runtime"
        if (root / "lib" / LIBRARY).is_file():
            return root
    raise MissingToolError(
        "the runtime is not installed: it is for Linux on x86_64 and aarch64, and `pip install` "
        "from sources builds it with a C++20 compiler"
    )


def libdir() -> Path:
    """Return the folder of libomptarget.so and its plugins."""
    return runtime_root() / "lib"


def check_observers() -> None:
    """Raise MissingToolError if the library with the trace, the checker and the summary is missing.

    The runtime opens it from its own folder.
    """
    if not (libdir() / OBSERVERS).is_file():
        raise MissingToolError(f"there is no {libdir() / OBSERVERS}: install omptool again")


def includedir() -> Path:
    """Return the folder of omptarget.h."""
    return runtime_root() / "include"


def exampledir() -> Path:
    """Return the folder of example programs, which has a folder for each."""
    return runtime_root() / "examples"


def cmakedir() -> Path:
    """Return the folder of omptoolConfig.cmake."""
    return libdir() / "cmake" / "omptool"
