# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Read flang's mangled names (flang/docs/BijectiveInternalNameUniquing.md).

A name is `_Q` and its scopes, outermost first, each behind a capital letter that says what it is:
`_QMmFpPq` is procedure q in procedure p of module m. Fortran's own names are in small letters.
"""

from __future__ import annotations

import re

MANGLED = "_Q"
MAIN = "main program"
_MAIN_PROGRAM = "_QQmain"
_NAME = r"[a-z][a-z0-9_$]*"
# Modules, submodules, procedures around it (without a name: the main program), and blocks.
_SCOPES = re.compile(rf"M{_NAME}|S{_NAME}|F(?:{_NAME})?|B[0-9]+")
# Procedures, variables, constants, types, namelists, common blocks.
_ENTITY = re.compile(rf"(?:P|EC|E|T|N|C)({_NAME})")


def readable(name: str) -> str:
    """Return the name as Fortran's sources have it, with `::` between scopes: `m::p`.

    What is not such a name of flang's is returned as it is.
    """
    if name == _MAIN_PROGRAM:
        return MAIN
    if not name.startswith(MANGLED):
        return name
    scopes: list[str] = []
    at = len(MANGLED)
    while found := _SCOPES.match(name, at):
        if name[at] == "F":
            scopes.append(found[0][1:] or MAIN)
        elif name[at] != "B":  # a block has a number, and no name
            scopes.append(found[0][1:])
        at = found.end()
    entity = _ENTITY.fullmatch(name, at)
    return "::".join([*scopes, entity[1]]) if entity else name
