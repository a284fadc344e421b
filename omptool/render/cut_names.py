# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shorten names to the width of a column, so that they stay different."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from packager.naming.lambdas import LAMBDA, LONGEST
from packager.patterns import pattern

_LINE = pattern(r":\d+$")


def shortened(text: str, room: int, gap: str = "…") -> str:
    """Return `text` in at most `room` characters, with `gap` in place of its middle.

    Names that begin alike, like those of kernels, differ at their ends.
    """
    if len(text) <= room:
        return text
    kept = max(room - len(gap), 0)
    head = kept // 2
    return f"{text[:head]}{gap}{text[len(text) - kept + head :]}"


def told_apart(names: Sequence[str], cut: list[str], room: int) -> list[str]:
    """Return shortened names; names that were cut alike show the part in which they differ.

    Kernels of one template are alike if they differ in a lambda after the cut. Other templates lose
    their arguments if no two become equal.
    """
    pairs = zip(names, cut, strict=True)
    known = {name: shown for name, shown in pairs if name != shown and len(name) <= LONGEST}
    better = _without_arguments(known, room)
    rest = {name: shown for name, shown in known.items() if name not in better}
    for group in _alike({name: _family(name, shown) for name, shown in rest.items()}):
        parts = _parts(group, room)
        better.update(parts)
        for again in _alike(parts):
            better.update(_parts(again, room))
    return [better.get(name, shown) for name, shown in zip(names, cut, strict=True)]


def _family(name: str, shown: str) -> str:
    return shown.partition("…")[0] if LAMBDA in name else shown


def _alike(shown: Mapping[str, str]) -> list[list[str]]:
    """Return groups of names that are shown alike."""
    groups: dict[str, list[str]] = {}
    for name, words in shown.items():
        groups.setdefault(words, []).append(name)
    return [group for group in groups.values() if len(group) > 1]


def _parts(names: Sequence[str], room: int) -> dict[str, str]:
    """Return the parts in which names differ, by words if possible; empty if all become equal."""
    words, letters = (_differing_parts(names, room, by_words=how) for how in (True, False))
    best = max(words, letters, key=lambda parts: len(set(parts)))
    return dict(zip(names, best, strict=True)) if len(set(best)) > 1 else {}


def _differing_parts(names: Sequence[str], room: int, *, by_words: bool) -> list[str]:
    """Return the names without their common parts, but with some of their begin and end."""
    least = min(map(len, names))
    head = _shared(names)
    tail = min(_shared([name[::-1] for name in names]), least - head)
    while by_words and head and _is_of_word(names[0][head - 1]):
        head -= 1
    while by_words and tail and _is_of_word(names[0][-tail]):
        tail -= 1
    shared = names[0][len(names[0]) - tail :]
    line = _LINE.search(shared)
    end = f"…{line[0]}" if line and line.start() > 1 else shared[-room // 4 :]
    found = []
    for name in names:
        part = name[head : len(name) - tail]
        rest = room - len(end) - len(part) - 1
        begin = name[: min(rest, head)] if rest > 0 else ""
        found.append(f"{begin}…{shortened(part, room - len(end) - 1)}{end}")
    return found


def _shared(names: Sequence[str]) -> int:
    """Return the length of the beginning that all names have."""
    first, last = min(names), max(names)
    pairs = enumerate(zip(first, last, strict=False))
    return next((at for at, (one, other) in pairs if one != other), len(first))


def _is_of_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def _without_arguments(names: Collection[str], room: int) -> dict[str, str]:
    """Return the names that fit without template arguments and stay unique."""
    folded = {name: _fitting(_folded(name), room) for name in names if LAMBDA not in name}
    counts = Counter(folded.values())
    return {name: short for name, short in folded.items() if short and counts[short] == 1}


def _folded(name: str) -> str:
    """Return a name with "<…>" for template arguments; "" if it has none."""
    if "<" not in name:
        return ""
    out: list[str] = []
    depth = 0
    for at, letter in enumerate(name):
        is_operator = name.endswith("operator", 0, at)
        if letter == "<" and (depth or (_is_of_word(name[at - 1 : at]) and not is_operator)):
            out.append("<…" if depth == 0 else "")
            depth += 1
        elif letter == ">" and depth and name[at - 1] != "-":
            depth -= 1
            out.append(">" if depth == 0 else "")
        elif depth == 0:
            out.append(letter)
    text = "".join(out)
    return text if depth == 0 and text != name else ""


def _fitting(name: str, room: int) -> str:
    """Return a name without as many of its scopes as necessary; "" if that is not enough."""
    while len(name) > room and "::" in name:
        name = f"…{name.partition('::')[2]}"
    return name if len(name) <= room else ""
