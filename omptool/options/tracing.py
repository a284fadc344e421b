# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`--trace FILE` and `--trace-format`: the runtime writes what runs to FILE."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from omptool.errors import fail
from omptool.options.paths import FILE, PROCESS, RANK, as_given, rank

FORMATS = ("json", "pftrace")


def trace_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add both options to a command."""
    form = click.option(
        "--trace-format", type=click.Choice(FORMATS), help="Write the trace in this format."
    )
    file = click.option(
        "--trace", type=FILE, metavar="FILE", help="Write a trace to FILE, .json or .pftrace."
    )
    return file(form(command))


def traced(file: Path | None, form: str | None, code: int) -> dict[str, str]:
    """Return the environment with which the runtime writes a trace to `file`, or an empty one.

    An existing trace is removed first, because the runtime creates its file anew. The runtime
    substitutes the process ID and rank for %p and %r. In an MPI job an existing file may be another
    rank's new trace, so it stays unless its name has the rank. `code` is the exit code if the trace
    cannot be written.
    """
    if not file:
        if form:
            fail("--trace-format: give --trace FILE as well", code)
        return {}
    name = as_given(file)
    if not form and file.suffix.removeprefix(".") not in FORMATS:
        fail(f"--trace {name}: end FILE in .json or .pftrace, or give --trace-format", code)
    own = rank()
    if PROCESS not in name and (RANK in name or not own):
        _remove(Path(str(file).replace(RANK, own or "0")), name, code)
    environment = {"OMPTOOL_TRACE": str(file.absolute())}
    if form:
        environment["OMPTOOL_TRACE_FORMAT"] = form
    return environment


def _remove(file: Path, name: str, code: int) -> None:
    try:
        found = file.lstat()
        if not stat.S_ISREG(found.st_mode):
            fail(f"--trace {name}: is not a regular file", code)
        if found.st_uid != os.geteuid():
            fail(f"--trace {name}: is another user's", code)
        file.unlink()
    except FileNotFoundError:
        if not file.absolute().parent.is_dir():
            fail(f"--trace {name}: there is no folder {file.parent}", code)
    except OSError as error:
        fail(f"--trace {name}: {error.strerror}", code)
