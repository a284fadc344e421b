# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The report `--summary-json`: sums of runs and transfers, for programs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from omptool.commands.run.report import CANNOT_WRITE, Report, private_folder, write_text
from omptool.console import portable

# Keys of a process's document, with the types of their values.
KEYS = {
    "process": int,
    "regions": list,
    "not_launched": list,
    "copies": list,
    "devices": list,
    "devices_not_used": int,
}
LARGEST = 1 << 28  # bytes of a process's document


@contextmanager
def made(out: Path, program: str) -> Iterator[Report]:
    """Make a folder for the documents of the program's processes, which ends with the block."""
    folder = private_folder()
    try:
        yield _Summarised(out, folder, program)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Summarised(Report):
    def __init__(self, out: Path, folder: Path, program: str) -> None:
        self.environment = {"OMPTOOL_SUMMARY_JSON": str(folder)}
        self._out = out
        self._folder = folder
        self._program = program

    def conclude(self, ended: int) -> int | None:
        """Write the sums of each process as one document."""
        found = [_read(path) for path in sorted(self._folder.iterdir())]
        processes = [one for one in found if one is not None]
        document = {
            "schema": 1,
            "program": portable(self._program),
            "exit_code": ended if ended >= 0 else None,
            "signal": -ended if ended < 0 else None,
            "processes": processes,
            "damaged": len(found) - len(processes),
        }
        text = json.dumps(document, indent=2)
        return None if write_text(self._out, text) else CANNOT_WRITE


def _read(path: Path) -> dict[str, Any] | None:
    """Return the document of a process; None if it is incomplete."""
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > LARGEST:
            return None
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    is_sound = isinstance(document, dict) and all(
        isinstance(document.get(key), kind) for key, kind in KEYS.items()
    )
    return document if is_sound else None
