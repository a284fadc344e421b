# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Several devices work at once: figure 1 of the proposal of 2013, and OMPTOOL_DEVICE_POLICY."""

from __future__ import annotations

from pathlib import Path

import pytest
from builds import Build, built, each
from clangs import run
from whole_programs import SOURCES

pytestmark = pytest.mark.offloads

SOURCE = SOURCES / "linked" / "several_devices.c"


@pytest.mark.parametrize("build", each(turn=1))
def test_iterations_run_on_all_devices_at_once(build: Build, tmp_path: Path) -> None:
    program = built(build, tmp_path / "main", SOURCE)
    for policy, said in (("", "3 1\n"), ("least-loaded", "3 3\n")):
        done = run(program, OMPTOOL_HOST_DEVICES="3", OMPTOOL_DEVICE_POLICY=policy)
        assert (done.returncode, done.stdout, done.stderr) == (0, said, "")
