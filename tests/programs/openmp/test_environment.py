# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""OMP_TARGET_OFFLOAD and OMP_DEFAULT_DEVICE, read as libomp reads them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import mpis
import pytest
from clangs import NEWEST, compiler, made
from running import run
from whole_programs import SOURCES

pytestmark = pytest.mark.offloads


@pytest.fixture(scope="module", params=["14", NEWEST])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tells the number of devices, the default device, and where a region ran."""
    source = SOURCES / "linked" / "where_it_runs.c"
    out = tmp_path_factory.mktemp("environment") / "main"
    made(out, *compiler(request.param, source), source)
    return out


@pytest.fixture
def count(way: Mapping[str, str]) -> int:
    """Return how many devices there are."""
    return 2 if mpis.VARIABLE in way else 1


def said(program: Path, **environment: str) -> tuple[str, str]:
    done = run(program, **environment)
    assert done.returncode == 0
    return done.stdout.strip(), done.stderr


@pytest.mark.parametrize("word", ["MANDATORY", "mandatory", "Mandatory", "default", "DEFAULT"])
def test_offloading_in_any_case(program: Path, word: str, count: int) -> None:
    assert said(program, OMP_TARGET_OFFLOAD=word) == (f"{count} 0 device", "")


@pytest.mark.parametrize("word", ["DISABLED", "disabled", "Disabled"])
def test_no_offloading_in_any_case(program: Path, word: str) -> None:
    assert said(program, OMP_TARGET_OFFLOAD=word) == ("0 0 host", "")


@pytest.mark.parametrize("word", ["M", "mandatoryx", "DISABLED,x"])
def test_a_word_that_libomp_refuses_is_the_default(program: Path, word: str, count: int) -> None:
    stdout, stderr = said(program, OMP_TARGET_OFFLOAD=word)
    assert stdout == f"{count} 0 device"
    assert "OMP_TARGET_OFFLOAD" in stderr


def test_the_default_device_may_be_the_host(program: Path, count: int) -> None:
    assert said(program, OMP_DEFAULT_DEVICE=f" {count} ") == (f"{count} {count} host", "")


def test_a_default_device_out_of_range_is_named(program: Path, count: int) -> None:
    stdout, stderr = said(program, OMP_DEFAULT_DEVICE="7")
    assert stdout == f"{count} 7 host"
    assert "device number 7 is out of range" in stderr
