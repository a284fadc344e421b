# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rewrite uses of variables that are not in generic memory.

A function that names such a variable computes the plain pointer to it at its start; constant
expressions around the name become instructions as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping

from packager.errors import UsageError
from packager.lowering.rewriting.ir_text import BODY, SYMBOL, VARIABLE

# Returns the instructions that compute the plain pointer into a local name.
Address = Callable[[str], str]

_NAME_OR_STRING = re.compile(rf'({SYMBOL})|"[^"]*"')
_LABEL = re.compile(r'(?:"[^"]*"|[-a-zA-Z$._0-9]+):')
_EXPRESSION = re.compile(
    r"\b(getelementptr|ptrtoint|ptrtoaddr|inttoptr|addrspacecast|bitcast|trunc|add|sub|xor)"
    r"((?: (?:inbounds|nuw|nsw|nusw))*)(?: inrange\([^)]*\))? \("
)
_BINARY = ("add", "sub", "xor")
_OPENING, _CLOSING = "[<{", "]>}"


def with_moved(text: str, moved: Mapping[str, Address]) -> str:
    """Return the module with uses of `moved` in functions rewritten to the addresses of these.

    Keys are symbols as LLVM prints them. Raises UsageError for a use that cannot be rewritten.
    """
    if not moved:
        return text
    return BODY.sub(lambda body: _Function(moved).rewritten(body[0]), text)


def check_constants(text: str, moved: Collection[str]) -> None:
    """Raise UsageError where the value of a variable holds the address of one of `moved`."""
    for variable in VARIABLE.finditer(text):
        for name in _names(variable[0][len(variable[1]) :], moved):
            raise UsageError(
                f"the value of {variable[1][1:]} holds the address of {name[1:]}, which no "
                "constant of this target can"
            )


def _names(text: str, moved: Collection[str]) -> list[str]:
    return [m[1] for m in _NAME_OR_STRING.finditer(text) if m[1] in moved]


class _Function:
    """One function definition, and the instructions that stand at its begin."""

    def __init__(self, moved: Mapping[str, Address]) -> None:
        self._moved = moved
        self._locals: dict[str, str] = {}
        self._begin: list[str] = []
        self._first = 0

    def rewritten(self, text: str) -> str:
        self._first = text.count(".omptool.")  # names of an earlier rewrite have smaller numbers
        head, *lines = text.split("\n")
        lines = [self._line(line) for line in lines]
        at = 1 if _LABEL.match(lines[0]) else 0
        return "\n".join([head, *lines[:at], *self._begin, *lines[at:]])

    def _line(self, line: str) -> str:
        if not _names(line, self._moved):
            return line
        if " = phi " not in line:
            self._check_nesting(line)
        return self._operands(line)

    def _check_nesting(self, line: str) -> None:
        depth = 0
        for found in re.finditer(
            rf'({SYMBOL})|c?"[^"]*"|([{re.escape(_OPENING + _CLOSING)}])', line
        ):
            if found[2]:
                depth += 1 if found[2] in _OPENING else -1
            elif found[1] in self._moved and depth:
                raise UsageError(
                    f"a constant of several values holds the address of {found[1][1:]}: "
                    f"{line.strip()}"
                )

    def _operands(self, text: str) -> str:
        """Return `text` with names and constant expressions replaced, innermost first."""
        parts = []
        at = 0
        for found in _EXPRESSION.finditer(text):
            if found.start() < at:
                continue
            close = _closing(text, found.end())
            inner = text[found.end() : close]
            if _names(inner, self._moved):
                parts.append(self._plain(text[at : found.start()]))
                parts.append(self._instruction(found[1], found[2], self._operands(inner)))
                at = close + 1
        return "".join([*parts, self._plain(text[at:])])

    def _plain(self, text: str) -> str:
        def local(found: re.Match[str]) -> str:
            name = found[1]
            if name not in self._moved:
                return found[0]
            if name not in self._locals:
                self._locals[name] = f"%.omptool.at.{self._first + len(self._locals)}"
                self._begin.append(self._moved[name](self._locals[name]))
            return self._locals[name]

        return _NAME_OR_STRING.sub(local, text)

    def _instruction(self, opcode: str, flags: str, operands: str) -> str:
        if opcode in _BINARY:
            first, _, second = operands.rpartition(", ")
            operands = f"{first}, {second.partition(' ')[2]}"
        name = f"%.omptool.value.{self._first + len(self._begin)}"
        self._begin.append(f"  {name} = {opcode}{flags} {operands}")
        return name


def _closing(text: str, at: int) -> int:
    """Return where the parenthesis ends that was opened just before `at`."""
    depth = 1
    while depth:
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return at - 1
