# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recognise this machine by its names on several systems."""

from __future__ import annotations

import platform

import pytest

from packager import host_machines
from packager.errors import UsageError


@pytest.mark.parametrize(
    ("name", "machine"),
    [
        ("x86_64", "x86_64"),
        ("AMD64", "x86_64"),
        ("aarch64", "aarch64"),
        ("arm64", "aarch64"),
        ("ARM64", "aarch64"),
    ],
)
def test_each_system_has_names_of_its_own(
    name: str, machine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: name)
    assert host_machines.own().name == machine


def test_another_machine_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    message = "is for riscv64; hosts are written for x86_64 and aarch64"
    with pytest.raises(UsageError, match=f"^{message}$"):
        host_machines.own()
