# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The machine that a link is for: that of its objects, which need not be the one it runs on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from packager.errors import UsageError
from packager.host_machines import own, written
from packager.host_machines.machine import HostMachine
from packager.linking.host_command import HostCommand
from packager.linking.inputs import HostPart
from packager.linking.libraries import machine_of


def of_objects(parts: Sequence[HostPart]) -> HostMachine:
    """Return the machine of all objects. Raises UsageError for two, and one not written for."""
    names: dict[str, str] = {}
    for part in parts:
        if part.binary.machine:
            names.setdefault(part.binary.machine, part.name)
    if len(names) > 1:
        (first, one), (second, other) = list(names.items())[:2]
        what = f"is for {second}, and {one} is for {first}: objects of one link are for one machine"
        raise UsageError(what, Path(other))
    for name, part_name in names.items():
        try:
            return written(name)
        except UsageError as error:
            raise UsageError(str(error), Path(part_name)) from error
    return own()


def expect_runtimes(command: HostCommand, machine: str) -> None:
    """Raise UsageError if a libomptarget that a link names by its file is for another machine."""
    for item in command.inputs:
        if item.path.name.startswith("libomptarget.so"):
            expect_runtime(item.path, machine)


def expect_runtime(runtime: Path, machine: str) -> None:
    """Raise UsageError if a libomptarget is not for the machine of a link."""
    found = machine_of(runtime)
    if found and found != machine:
        what = f"is for {found}, and the objects are for {machine}"
        raise UsageError(f"{what}: name that machine's libomptarget in the link command", runtime)
