# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Render `omptool dump --against`, as text for people and as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from omptool.console import portable, shown
from packager.naming.demangle import demangled
from packager.naming.region_names import in_words
from packager.questions.compare import Change, Fact
from packager.records import NamedTuple

SIGNS = {"added": "+", "removed": "-", "changed": "~", "moved": "="}


class Part(NamedTuple):
    """The changes of a file, or of a member of an archive."""

    member: str  # "" of a file
    changes: list[Change]


def against_text(parts: Iterable[Part], *, is_demangled: bool) -> str:
    """Return a line for each change."""
    lines = [_line(part.member, change, is_demangled) for part in parts for change in part.changes]
    return "\n".join(lines) or "no difference in what is offloaded"


def _line(member: str, change: Change, is_demangled: bool) -> str:
    names = [name for name in (change.was, change.name) if name]
    if is_demangled:
        names = [in_words(name) if change.what in ("kernel", "entry") else name for name in names]
    name = " -> ".join(names)
    where = f" ({_targets(change.targets)})" if change.targets else ""
    facts = ", ".join(_fact(fact) for fact in change.facts)
    if change.change == "changed" and not facts:
        facts = "other bytes"
    inside = f"{shown(member)}: " if member else ""
    return (
        f"{SIGNS[change.change]} {inside}{change.what} {name}{where}{': ' if facts else ''}{facts}"
    )


def _targets(targets: Sequence[str]) -> str:
    """Return targets with their common part once: "cubin for nvptx64-nvidia-cuda sm_80, sm_90"."""
    found: dict[str, list[str]] = {}
    for target in targets:
        head, _, arch = target.rpartition(" ")
        found.setdefault(head, []).append(arch)
    return "; ".join(f"{head} {', '.join(archs)}" for head, archs in found.items())


def _fact(fact: Fact) -> str:
    if fact.old is None or fact.new is None:
        number = fact.new if fact.old is None else fact.old
        return f"{fact.what} {number}"
    return f"{fact.what} {fact.old} -> {fact.new}"


def against_json(old: str, new: str, parts: Iterable[Part]) -> str:
    """Return the document of schemas/dump-against.json."""
    changes = [row for part in parts for row in _rows(part)]
    document = {"schema": 1, "old": portable(old), "new": portable(new), "changes": changes}
    return json.dumps(document, indent=2)


def _rows(part: Part) -> Iterator[dict[str, object]]:
    for change in part.changes:
        name = demangled(change.name) if change.what == "kernel" else change.name
        yield {
            "member": portable(part.member) if part.member else None,
            "what": change.what,
            "change": change.change,
            "name": change.name,
            "was": change.was or None,
            "demangled": name if name != change.name else None,
            "targets": change.targets,
            "facts": [fact._asdict() for fact in change.facts],
        }
