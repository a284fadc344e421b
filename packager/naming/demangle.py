# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Show names as people write them: C++'s by this machine's libstdc++, and Fortran's of flang."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from packager.patterns import pattern

LIBRARY = "libstdc++.so.6"
MANGLED = "_Z"
# Demanglers write this before the type that identifies a SYCL kernel.
_OF_TYPES = "typeinfo name for "
# Flang's names (flang/docs/BijectiveInternalNameUniquing.md): `_Q` and the scopes, outermost first,
# each after a capital letter for its kind. Fortran's own names are in lower case.
_FLANGS = "_Q"
_MAIN = "main program"
_MAIN_PROGRAM = "_QQmain"
_NAME = r"[a-z][a-z0-9_$]*"
# Scopes: modules, submodules, enclosing procedures (unnamed: the main program), and blocks.
_SCOPES = pattern(rf"M{_NAME}|S{_NAME}|F(?:{_NAME})?|B[0-9]+")
# Entities: procedures, variables, constants, types, namelists, common blocks.
_ENTITY = pattern(rf"(?:P|EC|E|T|N|C)({_NAME})")


@cache
def demangled(name: str) -> str:
    """Return a mangled name demangled; others unchanged, and C++'s too if no library is found."""
    if name.startswith(_FLANGS):
        return _fortrans(name)
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
        demangle = ctypes.CDLL(LIBRARY).__cxa_demangle  # noqa: SLF001 - of the C++ ABI
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


def _fortrans(name: str) -> str:
    """Return the name as Fortran's sources have it, with `::` between scopes: `m::p`.

    A name that is not flang's is returned unchanged.
    """
    if name == _MAIN_PROGRAM:
        return _MAIN
    scopes: list[str] = []
    at = len(_FLANGS)
    while found := _SCOPES.match(name, at):
        if name[at] == "F":
            scopes.append(found[0][1:] or _MAIN)
        elif name[at] != "B":  # a block has a number, and no name
            scopes.append(found[0][1:])
        at = found.end()
    entity = _ENTITY.fullmatch(name, at)
    return "::".join([*scopes, entity[1]]) if entity else name
