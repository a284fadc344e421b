# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The devices whose code `omptool slim` keeps: by name, by a list, or those of this machine."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from packager.errors import MissingToolError, UsageError
from packager.slimming.keeps import Kept, named, of_devices, of_list

THIS = "this"
HERE = "this machine"
CPUS = "host"  # the plugin whose devices are no GPUs


def kept_devices(architectures: Sequence[str], devices: Sequence[str]) -> tuple[Kept, ...]:
    """Return the devices of --keep and --device, each once.

    A device is "this", a number of `omptool devices`, or a file of its --json. Raises UsageError
    for unknown names, MissingToolError where this machine has no such device.
    """
    if not architectures and not devices:
        raise UsageError("--keep or --device must name the devices whose code stays")
    found = list(named(architectures)) if architectures else []
    for device in devices:
        found += _of_device(device)
    return tuple(dict.fromkeys(found))


def _of_device(device: str) -> tuple[Kept, ...]:
    if device == THIS or device.isdecimal():
        number = None if device == THIS else int(device[:18])
        return _here(number, dict(os.environ))
    if not Path(device).exists():
        known = f"{THIS}, a number of `omptool devices`, or a file of `omptool devices --json`"
        raise UsageError(f"there is no device {device!r}; known values: {known}")
    return of_list(Path(device))


def _here(number: int | None, environment: dict[str, str]) -> tuple[Kept, ...]:
    """Return this machine's device with a number, or all of its GPUs.

    GPUs are those of plugins, and those that drivers report.
    """
    from omptool.probes.ask import ask_plugins  # slow to load, and unused with --keep

    plugins = ask_plugins((), environment).plugins
    if number is None:
        plugins = [plugin for plugin in plugins if plugin["name"] != CPUS]
    rows: list[dict[str, Any]] = [device for plugin in plugins for device in plugin["devices"]]
    if number is None:
        rows += [{"number": None, "architecture": name} for name in _of_drivers(environment)]
    if not rows:
        raise MissingToolError(f"{HERE} has no GPU: name architectures with --keep")
    return of_devices(rows, number, HERE)


def _of_drivers(environment: dict[str, str]) -> list[str]:
    """Return the architectures of GPUs by CUDA's driver and by the kernel's list of AMD's."""
    from omptool.probes.amd_kfd import processors
    from omptool.probes.ask import ask_cuda
    from packager.machine.dynamic_loader import find_library
    from packager.machine.facts import NODES

    cuda = ask_cuda(find_library(NODES["nvptx64"][1], environment), environment)
    return [*(f"sm_{one}" for one in (cuda.devices if cuda else ())), *processors()]
