# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The report `--timeline`: a page of the program's trace."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from omptool.commands.run.report import CANNOT_WRITE, Report, is_written, private_folder, say
from omptool.console import shown
from omptool.options.paths import PROCESS, RANK, rank
from omptool.timeline import writing
from packager.wording import counted

NO_TRACE = "there is no trace: the program asked nothing of omptool's runtime"
OWN = f"{PROCESS}.pftrace"  # the smaller format


@contextmanager
def made(out: Path, trace: Path | None, program: str) -> Iterator[Report]:
    """Make a folder for the trace, which ends with the block, unless the user keeps the trace."""
    if trace:
        yield _Paged(out, trace.absolute(), program, {})
        return
    folder = private_folder()
    try:
        own = folder / OWN
        environment = {"OMPTOOL_TRACE": str(own), "OMPTOOL_TRACE_FORMAT": "pftrace"}
        yield _Paged(out, own, program, environment)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Paged(Report):
    def __init__(self, out: Path, trace: Path, program: str, environment: dict[str, str]) -> None:
        self.environment = environment
        self._out = out
        self._trace = trace
        self._program = program
        self._began = time.time()

    def conclude(self, ended: int) -> int | None:
        """Write the page of the largest trace: a launcher's processes may have one each."""
        traces = _written(self._trace, self._began)
        if not traces:
            say(f"Error: {self._out}: {NO_TRACE}")
            return CANNOT_WRITE
        if len(traces) > 1:
            others = counted(len(traces) - 1, "other trace")
            say(f"Note: {shown(self._out)}: shows the process with the largest trace, not {others}")
        notes: list[str] = []

        def write() -> None:
            notes.extend(writing.write(traces[0], self._out, shown(self._program)))

        if not is_written(self._out, write):
            return CANNOT_WRITE
        for note in notes:
            say(f"Note: {shown(self._out)}: {note}")
        return None


def _written(trace: Path, began: float) -> list[Path]:
    """Return the traces that processes of the program have written, largest first.

    Process IDs and ranks replace %p and %r, or follow an existing name. In an MPI job the processes
    have this one's rank: other files belong to other ranks.
    """
    name = re.escape(trace.name).replace(PROCESS, r"\d+").replace(RANK, rank() or r"\d+")
    found = []
    for path in trace.parent.iterdir():
        if re.fullmatch(rf"{name}(\.\d+)?", path.name) and path.is_file():
            status = path.stat()
            if status.st_mtime > began - 1:  # not one of an earlier program
                found.append((-status.st_size, path))
    return [path for _, path in sorted(found)]
