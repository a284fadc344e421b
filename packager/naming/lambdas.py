# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shorten names that contain a lambda, such as those of all kernels of RAJA and Kokkos.

The twin of this file is runtime/common/compact_name.cpp.
"""

from __future__ import annotations

from packager.patterns import pattern

LAMBDA = "::{lambda#"
LONGEST = 1 << 12  # characters of a name that is shortened: the time grows with their square
# Qualifiers after the parameters of a function that is a scope.
_QUALIFIERS = pattern(r"(?: const| volatile| &&?|\[abi:\w+\])*(?=::)")
_OPENING, _CLOSING = "(<{[", ")>}]"


def without_types_of_scopes(name: str) -> str:
    """Return a demangled name without the parameters of its scopes: `f::{lambda#1}`.

    The demangler writes `f(int, double*)::{lambda(int)#1}`.
    """
    if len(name) > LONGEST:
        return name
    out, at = [], 0
    while (begin := name.find("(", at)) >= 0:
        behind = _behind_types(name, begin, _end_of_parentheses(name, begin))
        out.append(name[at : begin + (behind is None)])
        at = behind or begin + 1
    return "".join((*out, name[at:]))


def with_short_scopes(name: str) -> str:
    """Return a name that keeps only the innermost function of lambdas in template arguments.

    `forall<int, a::f<double>::{lambda#1}>` becomes `forall<int, f::{lambda#1}>`.
    """
    at = name.find(LAMBDA) if len(name) <= LONGEST else -1
    while at >= 0:
        start = _start_of_scopes(name, at)
        scopes = name[start:at]
        if start > 0 and LAMBDA not in scopes:
            short = _innermost(scopes)
            name = name[:start] + short + name[at:]
            at = start + len(short)
        at = name.find(LAMBDA, at + len(LAMBDA))
    return name


def _behind_types(name: str, begin: int, end: int) -> int | None:
    """Return the index after the types in these parentheses; None if they hold no types."""
    head = name[:begin]
    if head.endswith("{lambda"):
        return end if name.startswith("#", end) else None
    is_behind_name = head[-1:].isalnum() or head[-1:] in ("_", ">", ")")
    if not is_behind_name or head.endswith("decltype"):
        return None
    found = _QUALIFIERS.match(name, end)
    return found.end() if found else None


def _end_of_parentheses(name: str, begin: int) -> int:
    """Return the index after the closing parenthesis; the next index if there is none."""
    depth = 0
    for at in range(begin, len(name)):
        depth += (name[at] == "(") - (name[at] == ")")
        if depth == 0:
            return at + 1
    return begin + 1


def _start_of_scopes(name: str, end: int) -> int:
    """Return the start of the template argument whose scopes end here; 0 for no argument."""
    depth = 0
    for at in range(end - 1, -1, -1):
        if name[at] in _CLOSING:
            depth += 1
        elif name[at] in _OPENING:
            if depth == 0:
                return at + 1
            depth -= 1
        elif depth == 0 and name[at] in " ,":
            return at + 1
    return 0


def _innermost(scopes: str) -> str:
    """Return the function of the scopes, and the class of an operator."""
    outer, _, function = _without_arguments(scopes).rpartition("::")
    if not function.startswith("operator") or not outer:
        return function or scopes
    return f"{_without_arguments(outer).rpartition('::')[2]}::{function}"


def _without_arguments(scopes: str) -> str:
    """Return a name without the template arguments at its end."""
    if not scopes.endswith(">"):
        return scopes
    depth = 0
    for at in range(len(scopes) - 1, -1, -1):
        depth += (scopes[at] == ">") - (scopes[at] == "<")
        if depth == 0:
            return scopes[:at]
    return scopes
