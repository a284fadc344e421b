# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs on the bundled runtime: by `omptool run`, or as it starts them, without its Python."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import mpis
from places import OMPTOOL

from omptool.probes import launching
from packager.files.reader import open_reader

PATIENCE = 120  # seconds, on a loaded machine

MANDATORY = {"OMP_TARGET_OFFLOAD": "MANDATORY"}


def on_the_runtime(program: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Return `environment` with what puts our runtime in the place of any other."""
    with open_reader(program) as data:
        return launching.on_the_runtime(program, data, environment)


def run(
    program: Path | str, *arguments: object, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run `program` with more in its environment, and return how it ended.

    Where mpis.VARIABLE names an MPI, it has two workers.
    """
    found = shutil.which(program)
    assert found, program
    if name := (os.environ | environment).get(mpis.VARIABLE):
        mpi = mpis.named(name)
        added = environment | mpis.MAY_END_UNANSWERED
        return mpis.of_program(mpis.with_workers(mpi, 2, found, *arguments, **added))
    return subprocess.run(
        [found, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
        env=on_the_runtime(Path(found), os.environ | environment),
    )


def omptool_run(*words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Call `omptool run` with more in its environment, and return how it ended."""
    return subprocess.run(
        [OMPTOOL, "run", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
        env=os.environ | environment,
    )
