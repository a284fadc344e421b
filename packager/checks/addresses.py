# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Check that host addresses distinguish entries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from packager.model import EntryTable, FatBinary, Finding, OffloadEntry

HINT = "link with --icf=safe or --icf=none, or make the host versions differ"
# Most names in a message: a table may have a thousand empty stubs.
SHOWN = 4


def folded(binary: FatBinary) -> Iterator[Finding]:
    """Kernels of different names whose host versions have one address: host addresses fold.

    The runtime gets the address of a region's host version and looks the kernel up by it. So
    regions that share an address all run the same kernel, which is wrong for all but one. Linkers
    fold functions of equal code, such as empty or trivial host versions, when identical code
    folding is on (--icf=all). Two names for one function have the same effect.

    Cure: link with --icf=safe or --icf=none, or make the host versions differ.
    """
    for table in binary.tables:
        for same in _groups(table):
            yield _finding(same)


def _groups(table: EntryTable) -> Iterator[list[OffloadEntry]]:
    """Yield the kernels of a table that share an address: one list for each address."""
    groups: dict[tuple[str | None, int], dict[str, OffloadEntry]] = {}
    for entry in table.entries:
        if entry.kind == "kernel" and entry.target is not None:
            groups.setdefault(entry.target, {}).setdefault(entry.label, entry)
    return (list(group.values()) for group in groups.values() if len(group) > 1)


def _finding(same: Sequence[OffloadEntry]) -> Finding:
    names = ", ".join(entry.label for entry in same[:SHOWN])
    more = f" and {len(same) - SHOWN} more" if len(same) > SHOWN else ""
    first = same[0]
    where = first.symbol if first.address is None else f"{first.address:#x}"
    at = f" ({where})" if where else ""
    message = f"kernels {names}{more} share one host address{at}: all their regions run one kernel"
    return Finding("OMP130", "error", message, HINT, same[1].number)
