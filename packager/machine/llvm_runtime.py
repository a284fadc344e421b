# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Predict the outcome of a program that starts on LLVM's libomptarget, without `omptool run`.

The outcome depends on the release (`packager.foreign_runtimes`) and on the machine. No I/O.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from packager.foreign_runtimes import (
    FIRST_WITH_KERNEL_CALL,
    at_start,
    is_blind,
    says_of_requires,
    when_used,
)
from packager.generations import is_newer, named
from packager.machine.runtimes import Runtime
from packager.model import FatBinary
from packager.naming.region_names import short_name
from packager.pairing import entry_states, needs_device
from packager.records import NamedTuple

Where = Literal["device", "host", "fails", "unknown"]
# Number of devices that LLVM's runtimes show for the CPU.
CPU_DEVICES = 4
MAX_DIGITS = 18  # most digits of a number in the environment
# First LLVM that only warns of a variable missing on the device, for programs with launch
# environments.
FIRST_WITHOUT_VARIABLES = 19


class Outcome(NamedTuple):
    """The outcome of the program's regions. `fails`: it ends, or regions run the wrong kernels."""

    where: Where
    reason: str


class Surroundings(NamedTuple):
    """The facts of the machine that decide the outcome beside the release of the runtime."""

    environment: Mapping[str, str]
    has_gpu: bool  # whether a driver is here for an image of the program
    tmp_problem: str  # why images for the CPU cannot be put in /tmp; "" if they can
    image_lack: str = ""  # missing needs of an image for the CPU; "" if none
    image_fault: str = ""  # fault of an image for the CPU; "" if none


def default_device(environment: Mapping[str, str]) -> int:
    """Return the default device of OMP_DEFAULT_DEVICE; 0 if unset."""
    value = environment.get("OMP_DEFAULT_DEVICE", "")
    return int(value[:MAX_DIGITS]) if value.isdecimal() else 0


def policy(environment: Mapping[str, str]) -> str:
    """Return OMP_TARGET_OFFLOAD in capitals, as runtimes compare it."""
    return environment.get("OMP_TARGET_OFFLOAD", "").upper()


def outcome(program: FatBinary, runtime: Runtime, around: Surroundings) -> Outcome:
    """Return where the regions of `program` run on that runtime, which is LLVM's."""
    found = _outcome(program, runtime, around)
    if found.where == "host" and policy(around.environment) == "MANDATORY":
        return Outcome("fails", f"OMP_TARGET_OFFLOAD is MANDATORY, and {found.reason}")
    return found


def _outcome(program: FatBinary, runtime: Runtime, around: Surroundings) -> Outcome:
    release = runtime.release or 0
    if not release:
        return Outcome("unknown", "it does not name its release of LLVM")
    if is_newer(release):
        return Outcome("unknown", f"LLVM {release} came after those that omptool knows")
    ending = at_start(program, release)
    if ending:
        return Outcome("fails", ending)
    if policy(around.environment) == "DISABLED":
        return Outcome("host", "OMP_TARGET_OFFLOAD is DISABLED")
    if not any(descriptor.images for descriptor in program.descriptors):
        return _unregistered(release)
    if is_blind(program, release):
        return Outcome("host", "it sees no image in the containers that clang 15 to 17 register")
    if around.image_fault:
        return Outcome("unknown", f"it loads images that are damaged: {around.image_fault}")
    if not _has_image_for_cpu(program):
        reason = "no image is for this machine's processor"
        return Outcome("unknown", GPU) if around.has_gpu else Outcome("host", reason)
    if runtime.lack:
        return Outcome("host", runtime.lack)
    if around.has_gpu:
        return Outcome("unknown", GPU)
    number = default_device(around.environment)
    if number >= CPU_DEVICES:
        return Outcome("fails", f"OMP_DEFAULT_DEVICE is {number}, and it has {CPU_DEVICES} devices")
    if around.tmp_problem:
        return Outcome("fails", f"/tmp {around.tmp_problem}, where it puts images for the CPU")
    if around.image_lack:
        return Outcome("fails", f"the image cannot be loaded: {around.image_lack}")
    ending = when_used(program, release)
    if ending:
        return Outcome("fails", ending)
    return _entries(program, release)


GPU = "this machine has a driver for GPUs, and doctor cannot predict how LLVM's runtime uses it"


def _unregistered(release: int) -> Outcome:
    if release < FIRST_WITH_KERNEL_CALL:
        return Outcome("host", "nothing registers the entries")
    if release < FIRST_WITHOUT_VARIABLES:
        return Outcome("unknown", "nothing registers the entries: some programs end then")
    return Outcome("fails", "nothing registers the entries, and an unknown region ends the program")


def _has_image_for_cpu(program: FatBinary) -> bool:
    registered = {index for d in program.descriptors for index in d.images}
    mine = (program.images[index] for index in registered)
    return any(i.kind == "elf" and i.contents.machine == program.machine for i in mine)


def _entries(program: FatBinary, release: int) -> Outcome:
    """Predict the outcome from the host's entries and their counterparts in the images."""
    if program.unlisted:
        return Outcome("fails", f"a second region {_called(program.unlisted[0])} has no entry")
    row = named(program.abi)
    is_new = row is not None and row.launch_environment > 0
    for entry, states in zip(program.entries, entry_states(program), strict=True):
        if not needs_device(entry) or not states or "present" in states:
            continue
        if "misordered" in states:
            if release < FIRST_WITH_KERNEL_CALL:
                other = f"{_called(entry.label)} is another kernel there"
                return Outcome("fails", f"it pairs by position: {other}")
            continue
        is_variable = entry.kind in ("global", "link")
        if is_variable and release >= FIRST_WITHOUT_VARIABLES and is_new:
            continue  # the runtime warns and continues
        if "missing" in states:
            return Outcome("fails", f"{_called(entry.label)} is missing in its images")
    said = ", and prints that it ignores `requires` clauses"
    more = said if says_of_requires(program, release) else ""
    return Outcome("device", f"it reads the program{more}")


def _called(name: str) -> str:
    """Return a kernel's or variable's name for messages."""
    return short_name(name) or name
