# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Show C++ names as people write them, by the demangler of this machine's libstdc++, and flang's."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from packager import fortran_names

LIBRARY = "libstdc++.so.6"
MANGLED = "_Z"
# Demanglers write this before the type that names a kernel of SYCL.
_OF_TYPES = "typeinfo name for "


@cache
def demangled(name: str) -> str:
    """Return a mangled name demangled; any other as it is, and C++'s where no library is found."""
    if name.startswith(fortran_names.MANGLED):
        return fortran_names.readable(name)
    if not name.startswith(MANGLED) or not is_possible():
        return name
    return (_demangler()(name) or name).removeprefix(_OF_TYPES)


def is_possible() -> bool:
    """Return whether this machine has the library."""
    return _demangler() is not _none


def _none(_: str) -> str | None:
    return None


@cache
def _demangler() -> Callable[[str], str | None]:
    import ctypes

    try:
        demangle = ctypes.CDLL(LIBRARY).__cxa_demangle
        free = ctypes.CDLL(None).free
    except (OSError, AttributeError):
        return _none
    demangle.restype = ctypes.c_void_p
    demangle.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    free.argtypes = [ctypes.c_void_p]

    def ask(name: str) -> str | None:
        found = demangle(name.encode("utf-8", "surrogateescape"), None, None, None)
        if not found:
            return None
        words = ctypes.string_at(found).decode("utf-8", "backslashreplace")
        free(found)
        return words

    return ask
