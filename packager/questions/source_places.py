# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Find the line of the source that a finding of `verify` is about."""

from __future__ import annotations

from packager.model import FatBinary, Finding, SourcePlace
from packager.naming.kernel_names import decode


def place_of(binary: FatBinary, finding: Finding) -> SourcePlace | None:
    """Return the region's file and line; None if the finding has no entry or they are unknown.

    Debug information has the file, the kernel's name the line.
    """
    if finding.entry is None or finding.entry >= len(binary.entries):
        return None
    entry = binary.entries[finding.entry]
    if entry.source is None:
        return None
    decoded = decode(entry.name)
    return entry.source._replace(line=decoded.line) if decoded else entry.source
