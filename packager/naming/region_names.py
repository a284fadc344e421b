# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Name regions as people do: function and line, `grid::heat:12`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from packager.naming.demangle import demangled
from packager.naming.kernel_names import decode, gcc_function
from packager.naming.lambdas import with_short_scopes, without_types_of_scopes
from packager.patterns import pattern

# Qualifiers that demanglers write after the parameters of a function.
_QUALIFIERS = pattern(r"(?: (?:const|volatile|&&?|noexcept)| \[[^\]]*\])*$")
_OPERATOR = pattern(r"\boperator(?:\(\)|\[\]|[<>=!+\-*/%^&|~,]+|(?= ))")
_REGION = pattern(r"(\S+)(:\d+)")  # function and line
_DEPTH = {"(": 1, "<": 1, "[": 1, "{": 1, ")": -1, ">": -1, "]": -1, "}": -1}


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Return function and line of each of clang's kernels, and the function of each of GCC's.

    Functions of C++ have scopes of lambdas, and then parameters, only where two names would be
    equal without. Other names are not in the dictionary.
    """
    known = {name: words for name in dict.fromkeys(names) if (words := _lengths(name))}
    counts = [Counter(words) for words in zip(*known.values(), strict=True)]
    return {
        name: next(
            (one for one, count in zip(words, counts, strict=True) if count[one] == 1), words[-1]
        )
        for name, words in known.items()
    }


def titles(names: Iterable[str]) -> dict[str, str]:
    """Return each name for display: short, or demangled if two short names are equal."""
    known = list(dict.fromkeys(names))
    short = short_names(known)
    counts = Counter(short.values())
    return {
        name: short[name] if counts[short.get(name, "")] == 1 else demangled(name) for name in known
    }


def short_name(name: str) -> str | None:
    """Return function and line of a kernel on its own; None for a name of no kernel."""
    return short_names([name]).get(name)


def in_words(name: str) -> str:
    """Return words with each function as people write it: `work:5` for `_Z4workv:5`.

    A function without a line keeps its parameters.
    """
    words = _REGION.sub(lambda found: f"{_lengths_of(demangled(found[1]))[1]}{found[2]}", name)
    return words if words != name else demangled(name)


def spellings(name: str) -> Iterator[str]:
    """Yield the names under which commands show a kernel or an entry."""
    yield name
    yield demangled(name)
    yield from dict.fromkeys(_lengths(name) or ())


def _lengths(name: str) -> tuple[str, ...] | None:
    """Return a kernel's function and line at each length: the shortest first, the last with types.

    None for a name of no kernel.
    """
    decoded = decode(name)
    if decoded is None:
        function = gcc_function(name)
        return None if function is None else _lengths_of(demangled(function))
    functions = _lengths_of(demangled(decoded.function))
    return tuple(str(decoded._replace(function=function)) for function in functions)


def _lengths_of(function: str) -> tuple[str, str, str]:
    untyped = without_types_of_scopes(without_parameters(function))
    return with_short_scopes(untyped), untyped, function


def without_parameters(function: str) -> str:
    """Return a demangled function without the types of its result and its parameters."""
    text = _QUALIFIERS.sub("", function)
    if not text.endswith(")"):
        return function
    depth = 0
    for at in range(len(text) - 1, -1, -1):
        depth += (text[at] == ")") - (text[at] == "(")
        if depth == 0:
            break
    return text[_start_of_name(text[:at]) : at] or function


def _start_of_name(head: str) -> int:
    """Return where the function's name begins: behind its result's type, which templates have."""
    depth = at = start = 0
    while at < len(head):
        if depth == 0 and (operator := _OPERATOR.match(head, at)):
            if head.startswith(" ", operator.end()) and not _is_symbol(operator[0]):
                break  # a conversion, new or delete
            at = operator.end()
            if head.startswith(" <", at):  # template arguments: operator<< <int>
                at += 1
            continue
        if head[at] == " " and depth == 0:
            start = at + 1
        depth += _DEPTH.get(head[at], 0)
        at += 1
    return start


def _is_symbol(operator: str) -> bool:
    return operator != "operator"
