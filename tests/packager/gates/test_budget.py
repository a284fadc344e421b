# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Budgets: their form, and what exceeds or lacks them."""

from __future__ import annotations

import pytest
from places import DATA

from packager.errors import FormatError
from packager.gates.budget import Budget, exceeded, lacking, parse, written
from packager.hosts.load import load_all
from packager.model import FatBinary

FATBIN = DATA / "none.fatbin"  # a kernel of 8 registers for sm_80, and one for sm_90a


@pytest.fixture(scope="module")
def files() -> list[FatBinary]:
    return [loaded.binary for loaded in load_all(FATBIN)]


def messages(text: str, files: list[FatBinary]) -> list[str]:
    budget = parse(text)
    return [one.message for gate in (exceeded, lacking) for one in gate(budget, files)]


def test_what_is_written_is_met(files: list[FatBinary]) -> None:
    text = written(files)
    assert messages(text, files) == []
    assert parse(text).architectures == ("sm_80", "sm_90", "sm_90a")
    assert "registers = 8\n" in text


def test_a_kernel_with_more_registers(files: list[FatBinary]) -> None:
    message, _ = messages('[kernels."fir*"]\nregisters = 7\n', files)
    assert message.startswith("kernel first (")
    assert message.endswith(") has registers 8, and the budget of 'fir*' is 7")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("device-code = 1", "the device code has"),
        ("entries = 1", "there are 0 entries, and the budget asks for 1"),
        ('architectures = ["sm_75"]', "no image is for sm_75; architectures: sm_80, sm_90, sm_90a"),
        ('[kernels."gone:*"]', "no kernel matches 'gone:*' of the budget"),
    ],
)
def test_what_is_missed(text: str, message: str, files: list[FatBinary]) -> None:
    (found,) = messages(text, files)
    assert found.startswith(message)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("= 1", "is no TOML: "),
        ("entry = 1", "the budget has the key 'entry'; known keys: device-code, entries"),
        ("entries = -1", "entries must be a number from 0, not -1"),
        ("entries = true", "entries must be a number from 0, not True"),
        ('architectures = "sm_80"', "architectures must be a list of strings"),
        ("kernels = 1", "kernels must be a table of patterns"),
        ("[kernels]\nx = 1", "kernels.'x' must be a table of limits"),
        ("[kernels.x]\nregs = 1", "kernels.'x' has the key 'regs'; known keys: registers"),
        ('[kernels.x]\nregisters = "8"', "registers must be a number from 0, not '8'"),
    ],
)
def test_a_malformed_budget(text: str, fault: str) -> None:
    with pytest.raises(FormatError) as error:
        parse(text)
    assert str(error.value).startswith(fault)


def test_no_limits() -> None:
    assert parse("") == Budget()
