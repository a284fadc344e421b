# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Devices whose code `omptool slim` keeps, of names, lists and this machine."""

from __future__ import annotations

import json
import platform
from pathlib import Path

import pytest
from toolchain import omptool

from omptool.probes.kept import kept_devices
from packager.errors import UsageError
from packager.slimming.keeps import Kept

pytestmark = pytest.mark.offloads
CPU = Kept(platform.machine(), platform.machine())


def test_gpus_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("omptool.probes.amd_kfd.processors", lambda: ("gfx942",))
    found = kept_devices([], ["this"])
    assert Kept("gfx942", "amdgcn") in found
    assert CPU not in found


def test_a_number_and_names() -> None:
    plugins = json.loads(omptool("devices", "--json").stdout)["plugins"]
    (number,) = [p["devices"][0]["number"] for p in plugins if p["name"] == "host"]
    gpu = Kept("sm_90", "nvptx64")
    assert kept_devices(["sm_90"], [str(number), str(number)]) == (gpu, CPU)


def test_a_list_of_another_machine(tmp_path: Path) -> None:
    path = tmp_path / "devices.json"
    path.write_text(omptool("devices", "--json").stdout)
    assert CPU in kept_devices([], [str(path)])


@pytest.mark.parametrize(
    ("device", "message"),
    [
        ("999", "this machine has no device 999; its devices: 0"),
        ("that", "there is no device 'that'; known values: this, a number"),
    ],
)
def test_no_such_device(device: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        kept_devices([], [device])


def test_nothing_is_named() -> None:
    with pytest.raises(UsageError, match="--keep or --device must name"):
        kept_devices([], [])
