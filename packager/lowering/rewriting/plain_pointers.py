# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convert a module of plain pointers, `ptr`, to a target with several address spaces."""

from __future__ import annotations

import re

from packager.errors import UsageError
from packager.lowering.rewriting.ir_text import BODY, SYMBOL, VARIABLE, defined_functions
from packager.lowering.rewriting.moved import Address, check_constants, with_moved
from packager.lowering.rewriting.spaces import Spaces

_LOCAL = re.compile(r"^  %(\S+) = alloca (inalloca )?(.*)$", re.MULTILINE)
_SIZED = re.compile(r", i\d+ (?!1\b)\S+")
_LIFETIME = re.compile(r"^ *(?:tail )?call void @llvm\.lifetime\..*\n", re.MULTILINE)
_INTRINSIC = re.compile(r"@llvm\.[\w.]+")
_POINTER = re.compile(r'"[^"]*"|(?<![%@\w.$!-])ptr(?! addrspace\()(?![-\w$.:])')
_HELD = re.compile(r"^@llvm\.(?:compiler\.)?used = .*\n", re.MULTILINE)
_MENTION = re.compile(rf'({SYMBOL})(\()?|"[^"]*"')
_INDIRECT = re.compile(r"^ *(?:%\S+ = )?(?:\w+ )?call [^@\n]*? (%[^ ,()]+)\(", re.MULTILINE)


def with_spaces(text: str, spaces: Spaces) -> str:
    """Return the module with variables, locals and pointers in the address spaces of `spaces`.

    Raises UsageError for a module that cannot be converted.
    """
    if spaces.moves_locals:
        text = _with_locals(_LIFETIME.sub("", text), spaces)
    if spaces.variables:
        text = _with_variables(_HELD.sub("", text), spaces)
    if spaces.generic:
        _check_functions(text)
        text = _INTRINSIC.sub(lambda found: _suffixed(found[0], spaces.generic), text)
        text = _POINTER.sub(lambda found: _generic(found[0], spaces.generic), text)
    return text


def with_generic_pointers(body: str, space: int) -> str:
    """Return a function with generic pointers in place of plain ones, local variables included."""
    text = _with_locals(_LIFETIME.sub("", body), Spaces("", generic=space))
    text = _INTRINSIC.sub(lambda found: _suffixed(found[0], space), text)
    return _POINTER.sub(lambda found: _generic(found[0], space), text)


def _with_locals(text: str, spaces: Spaces) -> str:
    """Rename each local's own address; its plain pointer keeps the old name."""

    def both(found: re.Match[str]) -> str:
        name, what = found[1], found[3]
        if "addrspace(" in re.sub(r"ptr addrspace\(\d+\)", "", what):
            return found[0]
        if found[2] or _SIZED.search(what):
            raise UsageError(f"%{name} is a local variable whose size is known only at run time")
        own = f"%.omptool.local.{name}" if '"' not in name else f'%".omptool.local.{name[1:]}'
        what, dot, debug = what.partition(", !")
        space = f", addrspace({spaces.stack})" if spaces.stack else ""
        cast = f"addrspacecast ptr addrspace({spaces.stack}) {own} to ptr"
        return f"  {own} = alloca {what}{space}{dot}{debug}\n  %{name} = {cast}"

    return _LOCAL.sub(both, text)


def _with_variables(text: str, spaces: Spaces) -> str:
    word = f"addrspace({spaces.variables})"
    moved = {found[1] for found in VARIABLE.finditer(text) if "addrspace(" not in found[2]}

    def definition(found: re.Match[str]) -> str:
        if found[1] not in moved:
            return found[0]
        head = f"{found[1]} = {found[2]}"
        rest = _MENTION.sub(constant, found[0][len(head) :])
        return f"{head}{word} {rest}"

    def constant(found: re.Match[str]) -> str:
        if found[1] not in moved:
            return found[0]
        return f"addrspacecast (ptr {word} {found[1]} to ptr)"

    def address(name: str) -> Address:
        return lambda to: f"  {to} = addrspacecast ptr {word} {name} to ptr"

    if not spaces.has_flat_constants:
        check_constants(text, moved)
    return VARIABLE.sub(definition, with_moved(text, {name: address(name) for name in moved}))


def _check_functions(text: str) -> None:
    """Check that the module takes no function's address: generic pointers cannot hold one."""
    functions = defined_functions(text)
    for part in (*BODY.finditer(text), *VARIABLE.finditer(text)):
        for found in _MENTION.finditer(part[0]):
            if found[1] in functions and not found[2]:
                raise UsageError(
                    f"it takes the address of function {found[1][1:]}; this target has none"
                )
    for body in BODY.finditer(text):
        called = _INDIRECT.search(body[0])
        if called:
            raise UsageError(
                f"{called[1]} is called by address: this target calls functions by name only"
            )


def _suffixed(name: str, space: int) -> str:
    return re.sub(r"\.p0(?=\.|$)", f".p{space}", name)


def _generic(word: str, space: int) -> str:
    return f"ptr addrspace({space})" if word == "ptr" else word
