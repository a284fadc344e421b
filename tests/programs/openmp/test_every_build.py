# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs of openmp and book, by every clang, each way, at -O2 and at -O0."""

from __future__ import annotations

import pytest
from builds import SWEEP, Build
from outcomes import Programs
from whole_programs import PROGRAMS, expected

pytestmark = [pytest.mark.offloads, pytest.mark.exhaustive]


@pytest.mark.parametrize("build", SWEEP, ids=str)
def test_programs_end_as_told(programs: Programs, build: Build) -> None:
    programs.start((build, program) for program in PROGRAMS)
    outcomes = {program: programs.outcome(build, program) for program in PROGRAMS}
    wrong = {p.stem: outcome for p, outcome in outcomes.items() if outcome != expected(p)}
    assert not wrong, "\n".join(f"{name}: {outcome}" for name, outcome in wrong.items())
