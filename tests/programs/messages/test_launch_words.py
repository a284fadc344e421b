# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LIBOMPTARGET_INFO's line about a launch is in the words of LLVM's release for the program."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from builds import some_clangs
from clangs import WITH_SNAPSHOTS, program_of, run

pytestmark = pytest.mark.offloads

PROGRAM = """
int main(void) {
  int ran = 0;
#pragma omp target map(from : ran)
  ran = 1;
  return !ran;
}
"""
FIRST_IN_DIMENSIONS = 20


@pytest.mark.parametrize(
    "version", some_clangs(1, ("14", "16", "19", "20", "21", *WITH_SNAPSHOTS[3:]))
)
def test_a_launch(tmp_path: Path, version: str) -> None:
    program = program_of(version, PROGRAM, tmp_path / "program.c")
    done = run(program, LIBOMPTARGET_INFO="16")
    assert done.returncode == 0, done.stderr
    words = "1 blocks and 1 threads"
    if int(version) >= FIRST_IN_DIMENSIONS:
        words = "[1,1,1] blocks and [1,1,1] threads"
    name = r"__omp_offloading_[0-9a-f_]+_main_l4"
    line = rf'"PluginInterface" device 0 info: Launching kernel {name} with {re.escape(words)} '
    assert re.fullmatch(line + "in Generic mode\n", done.stderr)
