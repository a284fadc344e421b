# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels as a launch calls them: each argument is one pointer-sized value."""

from __future__ import annotations

import re
from collections.abc import Sequence

from packager.lowering.rewriting.ir_text import symbol

_INTEGER = re.compile(r"i(\d+)")
_POINTER_BITS = 64


def with_wide_parameters(text: str, kernel: str, types: Sequence[str], pointer: str) -> str:
    """Return the module with a wrapper for a kernel whose parameters are all i64 or `pointer`.

    The kernel stays as it is if it has such parameters already and no other function calls it.
    """
    wide = [_wide(type_, pointer) for type_ in types]
    name = symbol(kernel)
    mention = re.compile(rf"{re.escape(name)}(?![-\w$.])")
    if wide == list(types) and len(mention.findall(text)) == 1:
        return text
    body = symbol(f".omptool.body.{kernel}")
    text = mention.sub(lambda _: body, text)
    text = re.sub(
        rf"^define (?:(?!void).)*(?=void {re.escape(body)}\()",
        "define internal ",
        text,
        flags=re.MULTILINE,
    )
    lines: list[str] = []
    arguments = []
    for index, (type_, passed) in enumerate(zip(types, wide, strict=True)):
        value = f"%a{index}"
        for word, to in _conversions(type_, passed):
            line = f"  {value}.{len(lines)} = {word} {passed} {value} to {to}"
            lines.append(line)
            value, passed = line.split(maxsplit=1)[0], to
        arguments.append(f"{type_} {value}")
    parameters = ", ".join(f"{type_} %a{index}" for index, type_ in enumerate(wide))
    call = f"  call void {body}({', '.join(arguments)}) alwaysinline"
    lines = [f"define void {name}({parameters}) {{", *lines, call, "  ret void", "}"]
    return "\n".join([text, *lines, ""])


def _wide(type_: str, pointer: str) -> str:
    return pointer if type_.startswith("ptr") else f"i{_POINTER_BITS}"


def _conversions(type_: str, passed: str) -> list[tuple[str, str]]:
    """Return how `passed` becomes `type_`: instruction and type, one after the other."""
    if type_ == passed:
        return []
    if _INTEGER.fullmatch(type_):
        return [("trunc", type_)]
    if passed.startswith("ptr"):
        return [("addrspacecast", type_)]
    own = "ptr addrspace(1)"
    through = [("inttoptr", own)]
    return through if type_ == own else [*through, ("addrspacecast", type_)]
