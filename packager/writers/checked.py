# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Check a result before it replaces its output file."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from packager.checks import verify
from packager.errors import FindingError
from packager.model import Finding

# Warning of images registered as LLVM 15 to 17 do, which the user requested here.
WRAPPED = "OMP113"


def checked(
    path: Path, *, force: bool, is_wrapped: bool, own: Collection[tuple[str, int]] = ()
) -> list[Finding]:
    """Return the findings of `verify` about a result.

    `is_wrapped` marks images that belong in containers. `own` lists images of an unknown format
    that plugins accept, by triple and size. Raises FindingError for an error, unless `force` is
    set.
    """
    from packager.hosts.load import load  # slow to load, and containers are not loaded

    binary = load(path)
    if own:
        images = (i.taken if (i.triple, i.size) in own else i for i in binary.images)
        binary = binary._replace(images=tuple(images))
    findings = [f for f in verify(binary) if not (f.code == WRAPPED and is_wrapped)]
    return accepted(findings, force=force)


def accepted(findings: list[Finding], *, force: bool) -> list[Finding]:
    """Return the findings. Raises FindingError for an error, unless `force` is set."""
    errors = [finding for finding in findings if finding.severity == "error"]
    if errors and not force:
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        raise FindingError(
            f"{errors[0].code}: {errors[0].message}{more}; not written without --force"
        )
    return findings
