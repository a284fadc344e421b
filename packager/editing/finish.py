# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The end of every edit: its plan is laid out and written, and the result is checked."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from packager.editing.build_id import find_build_id, renewed
from packager.editing.layout.layout import lay_out
from packager.editing.linked import LinkedFile
from packager.editing.losses import MODE, losses
from packager.editing.output import write
from packager.editing.plan import Plan
from packager.files.checksums import Checksums
from packager.files.replacing import replacing
from packager.model import FatBinary, Finding
from packager.records import NamedTuple
from packager.writers.checked import checked
from packager.writers.streams import Copied


class Edited(NamedTuple):
    """Result of an edit: the findings of `verify`, and notes for the user."""

    findings: Sequence[Finding]
    notes: Sequence[str]


def own_images(binary: FatBinary) -> frozenset[tuple[str, int]]:
    """Return the images of no known format in a file, by triple and size: they may stay in it."""
    return frozenset((i.triple, i.size) for i in binary.images if i.contents.is_own)


def finish(
    file: LinkedFile,
    plan: Plan,
    out: Path,
    sums: Checksums,
    *,
    is_wrapped: bool,
    own: Collection[tuple[str, int]],
    force: bool,
    copied: Copied,
) -> Edited:
    """Write the result beside `out`, check it, and rename it if it is sound."""
    layout = lay_out(file, plan)
    status = file.path.stat()
    with replacing(out, status.st_mode & MODE) as temporary:
        with temporary.open("r+b") as stream:
            write(stream, file, layout, copied)
            old = find_build_id(file)
            notes = [renewed(stream, file, layout, old, sums)] if old else []
        findings = checked(temporary, force=force, is_wrapped=is_wrapped, own=own)
    return Edited(findings, [*notes, *losses(file, status.st_mode)])
