"""What GCC's runtime will do with a program of GCC's on this machine. No I/O.

libgomp asks its plugin for nvptx how many devices there are. Where the plugin or CUDA's driver is
missing there are none, and every region runs on the host without a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from packager.fates import NODES, Diagnosis, EntryFate, ImageFate, Machine
from packager.model import FatBinary, Finding
from packager.pairing import needs_device
from packager.without_run import default_device, policy

LIBRARY = "libgomp.so"
PLUGIN = "libgomp-plugin-nvptx.so.1"
NODE, DRIVER = NODES["nvptx64"]
_SM = re.compile(r"sm_(\d+)")


def diagnose(program: FatBinary, machine: Machine) -> Diagnosis:
    """The fates of images and entries, and finding OMP209."""
    absence = _absence(machine)
    count = len(machine.cuda.devices) if machine.cuda and not absence else 0
    registered = {index for d in program.descriptors for index in d.images}
    images = tuple(
        ImageFate(
            image,
            "nvptx" if image.index in registered and not absence else None,
            tuple(range(count)) if image.index in registered else (),
            _rule(absence) if image.index in registered else "nothing registers it",
        )
        for image in program.images
    )
    reason = _reason(program, machine, count, absence)
    number = default_device(machine.environment)
    where = "host" if reason else f"device {number} (nvptx)"
    entries = tuple(EntryFate(e, where, reason) for e in program.entries if needs_device(e))
    findings = (*_findings(program, machine, absence), *_mandatory(machine, count))
    return Diagnosis(images, entries, count, findings)


def _rule(absence: str) -> str:
    return absence or "libgomp's plugin nvptx accepts it"


def _absence(machine: Machine) -> str:
    """Why there is no device."""
    if machine.libgomp_plugin is None:
        return f"libgomp's plugin {PLUGIN} is not found"
    if machine.cuda is None:
        return f"the driver's library {DRIVER} is not on this machine"
    return machine.cuda.problem or ("" if machine.cuda.devices else "the driver has no device")


def _reason(program: FatBinary, machine: Machine, count: int, absence: str) -> str:
    """Why the regions run on the host; "" if they run on a device."""
    number = default_device(machine.environment)
    if policy(machine.environment) == "DISABLED":
        return "OMP_TARGET_OFFLOAD is DISABLED"
    if not program.descriptors:
        return "nothing registers the entries"
    if absence:
        return f"there is no device: {absence}"
    if number >= count:
        return f"OMP_DEFAULT_DEVICE is {number}, and there are {count} devices"
    return _too_new(program, machine, number)


def _too_new(program: FatBinary, machine: Machine, number: int) -> str:
    """A device that is older than what the PTX is for: the driver refuses to compile it."""
    has = machine.cuda.devices[number] if machine.cuda else 0
    for image in program.images:
        wanted = _SM.match(image.contents.arch or "")
        if wanted and int(wanted[1]) > has:
            return f"image {image.index} is for sm_{wanted[1]}, and device {number} is sm_{has}"
    return ""


def _findings(program: FatBinary, machine: Machine, absence: str) -> Iterator[Finding]:
    """D09."""
    if absence:
        hint = "install the driver, or run where there is a device"
        if machine.libgomp_plugin is None:
            hint = "install libgomp's plugin for nvptx (Debian: libgomp-plugin-nvptx1)"
        message = f"{absence}: every region runs on the host without a word"
        yield Finding("OMP209", "warning", message, hint)
        if NODE in machine.files and machine.libgomp_plugin is not None:
            message = f"{NODE} is there, but {absence}"
            yield Finding("OMP208", "info", message, "install the driver's libraries anew")
        return
    number = default_device(machine.environment)
    older = (
        _too_new(program, machine, number)
        if machine.cuda and number in range(len(machine.cuda.devices))
        else ""
    )
    if older:
        hint = "compile with -foffload-options=-misa=… for what this machine has"
        yield Finding("OMP209", "error", f"{older}: libgomp ends the program", hint)


def _mandatory(machine: Machine, count: int) -> Iterator[Finding]:
    """D06: the number that stands for the host, which follows the devices', is let pass by some."""
    number = default_device(machine.environment)
    if policy(machine.environment) != "MANDATORY" or number < count:
        return
    what = f"OMP_TARGET_OFFLOAD=MANDATORY, and there are {count} devices"
    if number > count:
        message = f"{what}: libgomp ends the program at device {number}"
        yield Finding("OMP206", "error", message, "correct OMP_DEFAULT_DEVICE, or take both out")
    else:
        message = f"{what}: libgomp runs regions on the host up to GCC 12, and ends the program "
        yield Finding("OMP206", "warning", f"{message}since GCC 13", "do not rely on it")
