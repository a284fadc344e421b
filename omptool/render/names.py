# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write kernel names in tables: demangled, and no wider than the terminal."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable

from packager.naming.demangle import LIBRARY, MANGLED, demangled, is_possible
from packager.naming.kernel_names import decode, gcc_function
from packager.naming.region_names import short_names, titles
from packager.patterns import pattern

# Matches a kernel's name or another mangled name.
_NAME = pattern(r"\b_[\w$.]+\b")


def source(name: str) -> str | None:
    """Return mangled function and line of a kernel of clang's, function of one of GCC's."""
    decoded = decode(name)
    return gcc_function(name) if decoded is None else str(decoded)


def called(names: Iterable[str]) -> dict[str, str]:
    """Return the display names of kernels and variables: `grid::heat:12`, or demangled.

    Clang's regions in files of the same name may share one: only the number of a file differs in
    their mangled names.
    """
    known = titles(names)
    same = [name for name, title in known.items() if name == title and decode(name)]
    return known | short_names(same)


def raw(name: str, shown: str, *, is_wide: bool) -> str | None:
    """Return a name as its file has it, for wide tables that show another one; else None."""
    return name if is_wide and name != shown else None


def readable(message: str) -> str:
    """Return a message with regions by function and line.

    Mangled variables follow in source spelling, and the common part of two kernels.
    """
    names = list(dict.fromkeys(_NAME.findall(message)))
    short = short_names(names)
    counts = Counter(short.values())
    plain = {name: words for name, words in short.items() if counts[words] == 1}
    text = _NAME.sub(lambda found: plain.get(found[0], found[0]), message)
    told = dict.fromkeys(short.get(name) or demangled(name) for name in names if name not in plain)
    told = {words: None for words in told if words not in names}
    return f"{text} ({', '.join(told)})" if told else text


def remark(names: list[str]) -> str:
    """Return a note that names stay mangled, if there is no demangler for them; "" otherwise."""
    is_needed = any(name.startswith(MANGLED) for name in names)
    return "" if not is_needed or is_possible() else f"names are mangled: {LIBRARY} is not found"


def terminal_width() -> int | None:
    """Return the width that tables have: COLUMNS, or the terminal's; None for any width."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return int(columns)
    if not sys.stdout.isatty():
        return None
    import shutil  # slow to load

    return shutil.get_terminal_size().columns
