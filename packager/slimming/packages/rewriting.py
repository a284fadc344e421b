# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write a package with slimmed files to a temporary file in its folder, if any file changes."""

from __future__ import annotations

import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from packager.files.replacing import replacing
from packager.slimming.slimmed import Slimmed, is_worth_writing

# Writes the first package, with its files slimmed, to the second path; the folder is for
# intermediate files.
Rewrite = Callable[[Path, Path, Path], "list[Slimmed]"]


class _UnchangedError(Exception):
    """Leave `replacing` without a new file."""


def rewritten(path: Path, out: Path | None, rewrite: Rewrite) -> tuple[list[Slimmed], int]:
    """Return what was done to the files of a package, and the size of the package afterwards.

    `out` may be `path`. It is written only if a file changes and no kept GPU loses all code in one.
    Without `out`, the size is that of a temporary file.
    """
    from tempfile import TemporaryDirectory  # slow to load, and most files are no packages

    done: list[Slimmed] = []
    after = path.stat().st_size
    with TemporaryDirectory(prefix=".omptool-", dir=None if out is None else out.parent) as name:
        target = Path(name) / "result" if out is None else out
        with suppress(_UnchangedError), replacing(target, _mode(path)) as beside:
            done = rewrite(path, beside, Path(name))
            if not is_worth_writing(done):
                raise _UnchangedError
            after = beside.stat().st_size
    return done, after


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)
