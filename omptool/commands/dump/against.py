# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool dump --against`: what changed since another file."""

from __future__ import annotations

from omptool.commands.dump.request import Request
from omptool.console import echo
from omptool.reading import Files
from omptool.render.against import Part, against_json, against_text
from packager.questions.compare import differences
from packager.questions.members import EMPTY, named
from packager.questions.wanted import Wanted


def show(found: Files, before: Files, request: Request, wanted: Wanted) -> bool:
    """Show the changes, and return whether there are any.

    Show nothing if a file cannot be read.
    """
    (new,), (old,) = found.paths, before.paths
    ours, theirs = dict(named(before, str(old))), dict(named(found, str(new)))
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
