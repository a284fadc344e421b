# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Predict what libgomp does with a program compiled by GCC on this machine. No I/O.

For each kind of device libgomp asks a plugin for the number of devices, and numbers them in the
order of the kinds. Where the plugin or its driver is missing, libgomp has no device of that kind;
without any device, every region silently runs on the host.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from packager.machine.facts import (
    NODES,
    Diagnosis,
    EntryFate,
    GccRegions,
    ImageFate,
    Machine,
    Owner,
)
from packager.machine.llvm_runtime import default_device, policy
from packager.model import DeviceImage, FatBinary, Finding, ImageKind, OffloadEntry, Severity
from packager.pairing import needs_device
from packager.records import NamedTuple
from packager.wording import there_are

LIBRARY = "libgomp.so"
CONTAINER = "gcc"  # container of GCC's images
NO_IMAGE = (
    "it has no image: GCC compiled without an offload compiler, or with -foffload=disable; "
    "give -foffload=TARGET to compiler and linker"
)
_SM = re.compile(r"sm_(\d+)")


class Kind(NamedTuple):
    """A kind of device that libgomp has a plugin for."""

    name: str  # libgomp's
    plugin: str
    package: str  # Debian's
    image: ImageKind
    node: str
    driver: str


NVPTX = Kind(
    "nvptx", "libgomp-plugin-nvptx.so.1", "libgomp-plugin-nvptx1", "ptx", *NODES["nvptx64"]
)
GCN = Kind("gcn", "libgomp-plugin-gcn.so.1", "libgomp-plugin-amdgcn1", "amdgcn", *NODES["amdgcn"])
KINDS = (NVPTX, GCN)  # the order in which libgomp queries them


def part_of(program: FatBinary) -> FatBinary:
    """Return the part of a file for libgomp, without its tables for other runtimes."""
    return program._replace(
        abi="gcc",
        tables=tuple(table for table in program.tables if table.abi == "gcc"),
        descriptors=tuple(d for d in program.descriptors if _is_gccs(program, d.images)),
        registrations=(),
    )


def without(program: FatBinary) -> FatBinary:
    """Return the part of a file for other runtimes, whose images precede libgomp's."""
    return program._replace(
        abi=None if program.abi == "gcc" else program.abi,
        images=tuple(image for image in program.images if image.container != CONTAINER),
        tables=tuple(table for table in program.tables if table.abi != "gcc"),
        descriptors=tuple(d for d in program.descriptors if not _is_gccs(program, d.images)),
    )


def _is_gccs(program: FatBinary, images: Sequence[int]) -> bool:
    return any(program.images[index].container == CONTAINER for index in images)


def regions(program: FatBinary, machine: Machine) -> GccRegions:
    """Return where the regions of a file run, of which `part_of` has left GCC's alone."""
    kernels = [f for f in diagnose(program, machine).entries if f.entry.kind == "kernel"]
    first = next((fate for fate in kernels if fate.reason), kernels[0] if kernels else None)
    where, reason = (first.runs_on, first.reason) if first else ("host", "")
    return GccRegions(program.path, len(kernels), where, reason)


class _Devices(NamedTuple):
    """The devices of a kind."""

    kind: Kind
    absence: str  # why there is none; "" if there is one
    processors: tuple[str, ...]  # processor of each, as in "sm_75"
    first: int  # number of the first

    @property
    def numbers(self) -> range:
        return range(self.first, self.first + len(self.processors))


def diagnose(program: FatBinary, machine: Machine) -> Diagnosis:
    """Return the fates of images and entries, with finding OMP209."""
    devices = _devices(program, machine)
    images = tuple(_image(program, image, devices) for image in program.images)
    count = sum(len(one.processors) for one in devices)
    number = default_device(machine.environment)
    used = next((one for one in devices if number in one.numbers), None)
    reason = _reason(program, machine, devices, used)
    where = "host" if reason or not used else f"device {number} ({used.kind.name})"
    asked = _entries(program, (used or devices[0]).kind)
    entries = tuple(EntryFate(entry, where, reason) for entry in asked)
    findings = (*_findings(program, machine, devices, used), *_mandatory(machine, count))
    return Diagnosis(images, entries, count, findings)


def _devices(program: FatBinary, machine: Machine) -> list[_Devices]:
    """Return the devices of each kind that the program has images for."""
    kinds = [kind for kind in KINDS if any(i.kind == kind.image for i in program.images)]
    found: list[_Devices] = []
    for kind in kinds or [NVPTX]:
        absence = _absence(machine, kind)
        processors = () if absence else _processors(machine, kind)
        first = sum(len(one.processors) for one in found)
        found.append(_Devices(kind, absence, processors, first))
    return found


def _absence(machine: Machine, kind: Kind) -> str:
    """Return why libgomp has no device of a kind; "" if it has one."""
    if kind.name not in machine.libgomp_plugins:
        return f"libgomp's plugin {kind.plugin} is not found"
    is_asked = machine.cuda is not None if kind is NVPTX else kind.driver in machine.files
    if not is_asked:
        return f"the driver's library {kind.driver} is not on this machine"
    problem = machine.cuda.problem if machine.cuda and kind is NVPTX else ""
    return problem or ("" if _processors(machine, kind) else "the driver has no device")


def _processors(machine: Machine, kind: Kind) -> tuple[str, ...]:
    if kind is NVPTX:
        return tuple(f"sm_{number}" for number in machine.cuda.devices) if machine.cuda else ()
    return machine.amd


def _image(program: FatBinary, image: DeviceImage, devices: Sequence[_Devices]) -> ImageFate:
    mine = next((one for one in devices if one.kind.image == image.kind), None)
    registered = any(image.index in d.images for d in program.descriptors)
    if not registered or mine is None:
        return ImageFate(image, (), "nothing registers it")
    if mine.absence:
        return ImageFate(image, (), mine.absence)
    rule = f"libgomp's plugin {mine.kind.name} accepts it"
    return ImageFate(image, (Owner(mine.kind.name, tuple(mine.numbers)),), rule)


def _entries(program: FatBinary, kind: Kind) -> Iterator[OffloadEntry]:
    """Yield the entries for a kind of device, which has tables of its own."""
    for table in program.tables:
        kinds = {program.images[index].kind for index in table.images}
        if not kinds or kind.image in kinds:
            yield from (entry for entry in table.entries if needs_device(entry))


def _reason(
    program: FatBinary, machine: Machine, devices: Sequence[_Devices], used: _Devices | None
) -> str:
    """Return why the regions run on the host; "" if they run on a device."""
    number = default_device(machine.environment)
    count = sum(len(one.processors) for one in devices)
    if policy(machine.environment) == "DISABLED":
        return "OMP_TARGET_OFFLOAD is DISABLED"
    if not program.descriptors:
        return NO_IMAGE
    if not count:
        return f"there is no device: {'; '.join(one.absence for one in devices)}"
    if used is None:
        return f"OMP_DEFAULT_DEVICE is {number}, and {there_are(count, 'device')}"
    return _unfit(program, used, number)


def _unfit(program: FatBinary, used: _Devices, number: int) -> str:
    """Explain why the device cannot run an image: too old for the PTX, or another architecture."""
    has = used.processors[number - used.first]
    for image in program.images:
        wanted = (image.contents.arch or "").split(":")[0]
        if image.kind == used.kind.image and wanted and not _runs(used.kind, has, wanted):
            return f"image {image.index} is for {wanted}, and device {number} is {has}"
    return ""


def _runs(kind: Kind, has: str, wanted: str) -> bool:
    """Return whether a GPU `has` runs code for `wanted`: drivers compile PTX for later GPUs."""
    if kind is not NVPTX:
        return has == wanted
    there, asked = _SM.match(has), _SM.match(wanted)
    return not there or not asked or int(asked[1]) <= int(there[1])


def _findings(
    program: FatBinary, machine: Machine, devices: Sequence[_Devices], used: _Devices | None
) -> Iterator[Finding]:
    """Report devices that the program cannot use, and why (OMP208, OMP209)."""
    if not program.descriptors:
        return  # a driver is no cure
    is_none = not any(one.processors for one in devices)
    for kind, absence, *_ in (one for one in devices if one.absence):
        is_there = kind.name in machine.libgomp_plugins
        hint = "install the driver, or run where there is a device"
        if not is_there:
            hint = f"install libgomp's plugin for {kind.name} (Debian: {kind.package})"
        what = "every region silently runs on the host" if is_none else "libgomp uses other devices"
        severity: Severity = "warning" if is_none else "info"
        yield Finding("OMP209", severity, f"{absence}: {what}", hint)
        if kind.node in machine.files and is_there:
            message = f"{kind.node} is there, but {absence}"
            yield Finding("OMP208", "info", message, "reinstall the driver's libraries")
    unfit = _unfit(program, used, default_device(machine.environment)) if used else ""
    if unfit:
        hint = "compile with -foffload-options=… for this machine's device"
        yield Finding("OMP209", "error", f"{unfit}: libgomp ends the program", hint)


def _mandatory(machine: Machine, count: int) -> Iterator[Finding]:
    """Report a default device that libgomp's mandatory offload does not accept (OMP206).

    The number after the last device stands for the host, and some releases accept it.
    """
    number = default_device(machine.environment)
    if policy(machine.environment) != "MANDATORY" or number < count:
        return
    what = f"OMP_TARGET_OFFLOAD=MANDATORY, and {there_are(count, 'device')}"
    if number > count:
        message = f"{what}: libgomp ends the program at device {number}"
        yield Finding("OMP206", "error", message, "correct OMP_DEFAULT_DEVICE, or unset both")
        return
    message = f"{what}: libgomp runs regions on the host"
    if "OMP_DEFAULT_DEVICE" not in machine.environment:
        message += " up to GCC 12, and ends the program since GCC 13"
    yield Finding("OMP206", "warning", message, "do not rely on it")
