# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool dump --against`: what changed since another file."""

from __future__ import annotations

from pathlib import Path

from omptool.commands.dump.request import Request
from omptool.console import echo
from omptool.reading import Files
from omptool.render.against import Part, against_json, against_text
from packager.model import FatBinary
from packager.questions.compare import differences
from packager.questions.wanted import Wanted

# Stand-in for a member that the other archive lacks.
EMPTY = FatBinary("", None, None, None, (), (), ())


def show(found: Files, before: Files, request: Request, wanted: Wanted) -> bool:
    """Show the changes, and return whether there are any; nothing is shown where a file could not
    be read.
    """
    (new,), (old,) = found.paths, before.paths
    ours, theirs = _by_member(before, old), _by_member(found, new)
    if found.failed or before.failed:
        return False
    parts = [
        Part(name, list(differences(ours.get(name, EMPTY), theirs.get(name, EMPTY), wanted)))
        for name in {**ours, **theirs}
    ]
    if request.as_json:
        echo(against_json(str(old), str(new), parts))
    else:
        echo(against_text(parts, is_demangled=not request.no_demangle))
    return any(part.changes for part in parts)


def _by_member(found: Files, path: Path) -> dict[str, FatBinary]:
    """Return the files by the names of their members; "" for a file that is no archive.

    Members of one name keep their order.
    """
    binaries: dict[str, FatBinary] = {}
    for binary in found:
        name = binary.path.removeprefix(str(path)) if not binary.is_empty else ""
        number = 1
        while (key := name if number == 1 else f"{name} {number}") in binaries:
            number += 1
        binaries[key] = binary
    return binaries
