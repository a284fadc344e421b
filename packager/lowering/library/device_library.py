# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions that portable kernels may call: a family's definitions of them, as LLVM IR.

A kernel declares what it needs, such as `declare i32 @omp_get_team_num()`, and gets the definition
for its target. Only what a module declares is linked into it, and becomes internal there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

_PART = re.compile(
    r"^(?:@(?P<variable>[\w.$]+) = .*"
    r"|declare [^\n]*?@(?P<declared>[\w.$]+)\(.*"
    r"|define [^\n]*?@(?P<defined>[\w.$]+)\((?:[^\n]*\n(?!\}))*[^\n]*\n\})$",
    re.MULTILINE,
)
_MENTION = re.compile(r"@([\w.$]+)")
# Prefix of an image's variables that its plugin looks up, beside the entries.
EXPORTED = "__omptool_"


@dataclass(frozen=True)
class DeviceLibrary:
    """One family's functions and their helpers, created on demand."""

    modules: Callable[[], Iterable[str]]

    @cached_property
    def parts(self) -> Mapping[str, str]:
        """Return the IR of each symbol."""
        return {
            _named(found): found[0] for text in self.modules() for found in _PART.finditer(text)
        }

    @cached_property
    def functions(self) -> Set[str]:
        """Return the functions that kernels may call."""
        return {
            name
            for name, text in self.parts.items()
            if text.startswith("define") and not name.startswith(".")
        }

    def text(self, wanted: Iterable[str]) -> str:
        """Return a module of the functions `wanted` and of those that they call."""
        needed: list[str] = []
        pending = [name for name in self.parts if name in set(wanted)]
        while pending:
            name = pending.pop()
            if name in needed or name not in self.parts:
                continue
            needed.append(name)
            pending += _MENTION.findall(self.parts[name])
        return "\n".join(self.parts[name] for name in sorted(needed))


def _named(part: re.Match[str]) -> str:
    return part["variable"] or part["declared"] or part["defined"]


def module_text(name: str) -> str:
    """Return the text of the module of that name beside this file."""
    return (Path(__file__).parent / f"{name}.ll").read_text()
