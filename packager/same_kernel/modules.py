"""Kernels that two modules have under one name: a linker takes the first without a word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set

from llvmlite import binding as llvm

from packager.lowering.joining.kept import is_local
from packager.lowering.joining.request import Part

_NUMBERED = re.compile(r"[#!]\d+|\.\d+\b")  # by the module, and not by the source
_MENTION = re.compile(r"@([-a-zA-Z$._0-9]+)")


def differing(
    program: llvm.ModuleRef,
    module: llvm.ModuleRef,
    names: Set[str],
    definers: Mapping[str, str],
    part: Part,
) -> Iterator[str]:
    """A line for each function of `names` that both modules define, and not with the same code."""
    both = [f.name for f in module.functions if f.name in names and f.name in definers]
    if not both:
        return
    first, second = _local(program), _local(module)
    for name in both:
        if _code(program, name, first) != _code(module, name, second):
            yield (
                f"{definers[name]} and {part.name} have different code for {name}: that of "
                f"{definers[name]} is taken"
            )


def _local(module: llvm.ModuleRef) -> dict[str, llvm.ValueRef]:
    return {f.name: f for f in module.functions if not f.is_declaration and is_local(f)}


def _code(module: llvm.ModuleRef, name: str, local: Mapping[str, llvm.ValueRef]) -> list[str]:
    """The text of a function and of those of the module alone that it leads to."""
    texts = [str(module.get_function(name))]
    pending, seen = [texts[0]], {name}
    while pending:
        for called in _MENTION.findall(pending.pop()):
            if called in local and called not in seen:
                seen.add(called)
                texts.append(str(local[called]))
                pending.append(texts[-1])
    return [_NUMBERED.sub("", text) for text in texts]
