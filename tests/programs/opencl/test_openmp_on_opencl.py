# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Clang's OpenMP programs on Intel's OpenCL device for CPUs, in SPIR-V with omptool's library.

`make test` runs a sample, `make test-all` all by each clang, way and level; docs/runtime.md has
their table.
"""

from __future__ import annotations

from pathlib import Path

import on_opencl
import opencl
import pytest
import running
from on_opencl import GAPS, OWN, Build
from outcomes import ended
from places import TESTS
from whole_programs import REFUSED

APPLICATIONS = sorted((TESTS / "programs" / "applications").glob("*.c"))
SMALL = {"stream": (30_000, 3), "stencil": (20, 70, 11), "nbody": (60, 5)}


@pytest.fixture(scope="module")
def vendors(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return opencl.vendors(tmp_path_factory.mktemp("vendors")) | {"OMPTOOL_PLUGINS": "opencl"}


@pytest.mark.parametrize(("source", "build"), on_opencl.cases())
def test_it_runs_on_opencl(
    source: Path, build: Build, tmp_path: Path, vendors: dict[str, str]
) -> None:
    program = tmp_path / source.stem
    done = on_opencl.built(build, source, program)
    refused = [(REFUSED[source.stem], 1)] if source.stem in REFUSED else []
    if gaps := [*GAPS.get(source.stem, ()), *refused]:
        assert any(words in done.stderr and done.returncode == code for words, code in gaps)
        return
    assert done.returncode == 0, done.stderr
    outcome = on_opencl.without_driver(ended(program, 1, **vendors))
    assert outcome == on_opencl.wanted(source)


@pytest.mark.parametrize(("source", "build"), on_opencl.cases(OWN, every=1))
def test_own_programs(source: Path, build: Build, tmp_path: Path, vendors: dict[str, str]) -> None:
    program = tmp_path / source.stem
    done = on_opencl.built(build, source, program)
    assert done.returncode == 0, done.stderr
    assert ended(program, 1, **vendors) == on_opencl.wanted(source)


@pytest.mark.parametrize(("source", "build"), on_opencl.cases(APPLICATIONS, every=3))
def test_applications_find_the_host_s_results(
    source: Path, build: Build, tmp_path: Path, vendors: dict[str, str]
) -> None:
    program = tmp_path / source.stem
    done = on_opencl.built(build, source, program)
    assert done.returncode == 0, done.stderr
    ran = running.run(program, *SMALL[source.stem], **running.MANDATORY, **vendors)
    assert (ran.returncode, ran.stderr) == (0, "")
