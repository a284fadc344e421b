"""The functions that portable kernels may call: a family's definitions of them, as LLVM IR.

A kernel declares what it needs, such as `declare i32 @omp_get_team_num()`, and gets the definition
for its target. Only what a module declares is linked into it, and becomes internal there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from pathlib import Path

_PART = re.compile(
    r"^(?:@(?P<variable>[\w.$]+) = .*"
    r"|declare [^\n]*?@(?P<declared>[\w.$]+)\(.*"
    r"|define [^\n]*?@(?P<defined>[\w.$]+)\((?:[^\n]*\n(?!\}))*[^\n]*\n\})$",
    re.MULTILINE,
)
_MENTION = re.compile(r"@([\w.$]+)")
# Variables of an image for its plugin to find, beside the entries, begin so.
EXPORTED = "__omptool_"


@dataclass(frozen=True)
class DeviceLibrary:
    """One family's definitions and what they need: each symbol with the IR that defines it."""

    parts: Mapping[str, str]
    functions: Set[str]  # those that kernels may call

    def text(self, wanted: Iterable[str]) -> str:
        """A module of the functions `wanted` and of what they need."""
        needed: list[str] = []
        pending = [name for name in self.parts if name in set(wanted)]
        while pending:
            name = pending.pop()
            if name in needed or name not in self.parts:
                continue
            needed.append(name)
            pending += _MENTION.findall(self.parts[name])
        return "\n".join(self.parts[name] for name in sorted(needed))


def library_of(*texts: str) -> DeviceLibrary:
    """The library that `texts` are modules of."""
    parts: dict[str, str] = {}
    functions = set()
    for text in texts:
        for found in _PART.finditer(text):
            name = found["variable"] or found["declared"] or found["defined"]
            parts[name] = found[0]
            if found["defined"] and not name.startswith("."):
                functions.add(name)
    return DeviceLibrary(parts, functions)


def module_text(name: str) -> str:
    """The module of that name beside this file."""
    return (Path(__file__).parent / f"{name}.ll").read_text()
