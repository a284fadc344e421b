# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The codes of the gates, with the function of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from packager.gates import budget, earlier
from packager.gates.budget import Budget
from packager.model import FatBinary, Finding
from packager.questions.compare import Change

# Codes of the comparison with an earlier build, by the word of --fail-on.
SINCE = {"removed": "OMP141", "added": "OMP142", "changed": "OMP143"}
AGAINST: dict[str, Callable[[Sequence[Change]], Iterator[Finding]]] = {
    "OMP141": earlier.removed,
    "OMP142": earlier.added,
    "OMP143": earlier.changed,
}
BUDGET: dict[str, Callable[[Budget, Sequence[FatBinary]], Iterator[Finding]]] = {
    "OMP144": budget.exceeded,
    "OMP145": budget.lacking,
}
CODES = (*AGAINST, *BUDGET)


def name(code: str) -> str:
    """Return the word for the findings of a code."""
    return (AGAINST[code] if code in AGAINST else BUDGET[code]).__name__


def explain(code: str) -> str:
    """Return cause and cure of a finding, some lines of text."""
    from inspect import getdoc  # slow to load

    return getdoc(AGAINST[code] if code in AGAINST else BUDGET[code]) or ""
