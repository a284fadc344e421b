"""What a runtime will do with a program on this machine, from what is known of both. No I/O."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from packager import libgomp
from packager.fates import NODES, Answer, Diagnosis, EntryFate, ImageFate, Machine
from packager.model import EntryTable, FatBinary, Finding, OffloadEntry, Severity
from packager.pairing import entry_states, needs_device
from packager.runtimes import NAME as RUNTIME
from packager.without_run import (
    Outcome,
    Surroundings,
    default_device,
    generation,
    outcome,
    policy,
)

OPENMP = ("libomp.so", "libiomp5.so", "libgomp.so")
LLVM = re.compile(r"libLLVM[-.].*")
RUN = "start it with `omptool run`"
POLICIES = ("DEFAULT", "MANDATORY", "DISABLED")
# From here on LLVM's runtimes write images for the CPU to a file before they load them.
FIRST_TO_WRITE = 16


def diagnose(program: FatBinary, machine: Machine) -> Diagnosis:
    """The fates of images and entries, and findings OMP201 to OMP209."""
    if program.abi == "gcc":
        found = libgomp.diagnose(program, machine)
        general = (*_unresolved(machine), *_two_of_a_kind(machine), *_environment(machine, None))
        return replace(found, findings=(*general, *found.findings))
    images = _images(program, machine)
    count = 1 + max((number for fate in images for number in fate.devices), default=-1)
    entries = tuple(_entries(program, machine, images, count))
    findings = (*_findings(program, machine, images, count), *_fatal(machine, entries))
    found = Diagnosis(images, entries, count, findings)
    return replace(found, without_run=_without_run(program, machine, found))


def _without_run(program: FatBinary, machine: Machine, found: Diagnosis) -> Outcome | None:
    """What the runtime makes of it that the loader picks; None if the program asks for none."""
    names = [library for library in machine.libraries if library.name.startswith(RUNTIME)]
    if not names or program.abi == "proposal" or not found.entries:
        return None
    if machine.runtime is None:
        return Outcome("fails", f"{names[0].name} is not found")
    if machine.runtime.release is None:
        reason = next((fate.reason for fate in found.entries if fate.reason), "")
        if reason and policy(machine.environment) == "MANDATORY":
            return Outcome("fails", f"OMP_TARGET_OFFLOAD is MANDATORY, and {reason}")
        return Outcome("host" if reason else "device", reason or "it is omptool's runtime")
    drivers = {NODES[name][1] for name in _gpus(program) if name in NODES}
    around = Surroundings(machine.environment, bool(drivers & machine.files))
    return outcome(program, machine.runtime, around)


def _gpus(program: FatBinary) -> set[str]:
    """The processors that its images are for, by their bytes where they say it."""
    return {(image.contents.machine or image.triple).split("-")[0] for image in program.images}


def _images(program: FatBinary, machine: Machine) -> tuple[ImageFate, ...]:
    """Numbers are given in the order of images; a second image for a plugin adds none."""
    numbered: dict[str, tuple[int, ...]] = {}
    total = 0
    fates = []
    for image, answers in zip(program.images, machine.answers, strict=True):
        plugin = next((answer.plugin for answer in answers if answer.accepts), None)
        registered = any(image.index in d.images for d in program.descriptors)
        if plugin and registered and plugin not in numbered:
            numbered[plugin] = tuple(range(total, total + machine.devices.get(plugin, 0)))
            total += machine.devices.get(plugin, 0)
        rule = _rule(plugin, answers) if registered else "nothing registers it"
        devices = numbered.get(plugin or "", ()) if registered else ()
        fates.append(ImageFate(image, plugin if registered else None, devices, rule))
    return tuple(fates)


def _rule(plugin: str | None, answers: Sequence[Answer]) -> str:
    if plugin:
        return f"plugin {plugin} accepts it"
    if not answers:
        return "there is no plugin"
    said = (f"{a.plugin}: {a.reason or 'it does not accept it'}" for a in answers)
    return "; ".join(said)


def _entries(
    program: FatBinary, machine: Machine, images: Sequence[ImageFate], count: int
) -> Iterator[EntryFate]:
    states = iter(entry_states(program))
    for table in program.tables:
        rows = [(entry, next(states)) for entry in table.entries]
        broken = _broken(table, rows, images)
        for entry, row in rows:
            if not needs_device(entry):
                continue
            reason = _policy(machine, count) or broken
            device = _device(machine)
            fitting = [
                fate
                for fate in images
                if device in fate.devices and fate.image.index in table.images
            ]
            if not reason:
                reason = _absence(entry, row, fitting, images, device)
            where = f"device {device} ({fitting[0].plugin})" if fitting and not reason else "host"
            yield EntryFate(entry, where, reason)


def _policy(machine: Machine, count: int) -> str:
    """What the environment decides for all entries."""
    if policy(machine.environment) == "DISABLED":
        return "OMP_TARGET_OFFLOAD is DISABLED"
    if count and _device(machine) >= count:
        return f"OMP_DEFAULT_DEVICE is {_device(machine)}, and there are {count} devices"
    return ""


def _device(machine: Machine) -> int:
    return default_device(machine.environment)


def _broken(
    table: EntryTable,
    rows: Sequence[tuple[OffloadEntry, Sequence[str]]],
    images: Sequence[ImageFate],
) -> str:
    """A variable that an image lacks keeps all regions of its library off the device.

    So does an image that has other entries where they pair by place.
    """
    for fate in images if not table.has_names else ():
        places = fate.image.contents.places
        is_used = fate.devices and fate.image.index in table.images
        if is_used and fate.image.kind == "elf" and len(places or ()) != len(rows):
            what = f"the host lists {len(rows)} entries, image {fate.image.index} "
            return f"{what}{len(places or ())}, and without names they pair by place"
    for entry, states in rows:
        for fate in images:
            state = states[fate.image.index]
            is_used = fate.devices and fate.image.index in table.images
            if is_used and entry.kind in ("global", "link") and state == "missing":
                return f"image {fate.image.index} lacks the variable {entry.label}"
            if is_used and not table.has_names and state in ("size", "kind"):
                return f"image {fate.image.index} has another size for entry {entry.label}"
    return ""


def _absence(
    entry: OffloadEntry,
    states: Sequence[str],
    fitting: Sequence[ImageFate],
    images: Sequence[ImageFate],
    device: int,
) -> str:
    if not any(fate.devices for fate in images):
        rules = [f"image {fate.image.index}: {fate.rule}" for fate in images]
        return f"there is no device: {'; '.join(rules) or 'the program has no image'}"
    if not fitting:
        return f"there is no image for device {device}"
    if all(states[fate.image.index] == "missing" for fate in fitting):
        return f"image {fitting[0].image.index} lacks it"
    return ""


# ---- findings ----


def _findings(
    program: FatBinary, machine: Machine, images: Sequence[ImageFate], count: int
) -> Iterator[Finding]:
    yield from _unresolved(machine)
    yield from _generation(program, machine)
    yield from _two_of_a_kind(machine)
    yield from _without_device(machine, images)
    yield from _environment(machine, count)
    yield from _read_only_tmp(program, machine)


def _unresolved(machine: Machine) -> Iterator[Finding]:
    """D01."""
    helped = {library.name for library in machine.under_run if library.path is None}
    for library in machine.libraries:
        if library.path is not None:
            continue
        places = ", ".join((*library.searched, "the cache of ldconfig", "the default folders"))
        message = f"{library.name}, which {library.wanted_by} needs, is not found in {places}"
        hint = "install it, or name its folder in LD_LIBRARY_PATH"
        is_ours = library.name not in helped
        yield Finding(
            "OMP201", "warning" if is_ours else "error", message, RUN if is_ours else hint
        )


def _generation(program: FatBinary, machine: Machine) -> Iterator[Finding]:
    """D02: what a runtime of LLVM's makes of a program of another release."""
    runtime = machine.runtime
    if runtime is None or runtime.release is None or program.abi in (None, "proposal"):
        return
    reason = generation(program, runtime.release)
    if reason:
        said = f"the loader picks LLVM {runtime.release}'s runtime, {runtime.path}: {reason}"
        yield Finding("OMP202", "warning", said, RUN)


def _two_of_a_kind(machine: Machine) -> Iterator[Finding]:
    """D03."""
    found = [library for library in machine.under_run if library.path]
    openmp = {
        str(lib.path and lib.path.resolve()): lib for lib in found if lib.name.startswith(OPENMP)
    }
    if len(openmp) > 1:
        message = f"two OpenMP runtimes are loaded: {', '.join(sorted(openmp))}"
        yield Finding("OMP203", "warning", message, "link with one of them")
    llvm = sorted({str(lib.path) for lib in found if LLVM.fullmatch(lib.name)})
    if len(llvm) > 1:
        message = f"two LLVMs are loaded: {', '.join(llvm)}"
        hint = 'they may end with "registered more than once": link with one of them'
        yield Finding("OMP203", "warning", message, hint)


def _without_device(machine: Machine, images: Sequence[ImageFate]) -> Iterator[Finding]:
    """D04, D05 and D08."""
    for fate in images:
        if fate.devices:
            continue
        image = fate.image
        what = f"image {image.index} ({image.target}) has no device"
        node, driver = NODES.get((image.contents.machine or image.triple).split("-")[0], ("", ""))
        others = bool(machine.devices) and any(other.devices for other in images)
        severity: Severity = "info" if others else "warning"
        if fate.plugin:
            yield Finding("OMP205", severity, f"{what}: plugin {fate.plugin} has none", RUN)
            continue
        if node and driver not in machine.files:
            message = f"{what}: the driver's library {driver} is not on this machine"
            hint = "install the driver, or run where there is one"
            yield Finding("OMP204", severity, message, hint, None, image.index)
            if node in machine.files:
                message = f"{node} is there, but the driver's library {driver} is not"
                yield Finding("OMP208", "info", message, "install the driver's libraries")
            continue
        message = f"{what}: {fate.rule}"
        hint = "give the program an image for what this machine has"
        yield Finding("OMP205", severity, message, hint, None, image.index)


def _fatal(machine: Machine, entries: Sequence[EntryFate]) -> Iterator[Finding]:
    """D06: what the environment makes of an entry that is not on a device."""
    reason = next((fate.reason for fate in entries if fate.reason), "")
    if reason and policy(machine.environment) == "MANDATORY":
        message = f"OMP_TARGET_OFFLOAD=MANDATORY: the first region ends the program, as {reason}"
        yield Finding("OMP206", "error", message, "take it out, or see to the reason")


def _environment(machine: Machine, count: int | None) -> Iterator[Finding]:
    """D06; without a count, what has nothing to do with the number of devices."""
    env = machine.environment
    said = env.get("OMP_TARGET_OFFLOAD", "")
    if said and policy(env) not in POLICIES:
        message = f"OMP_TARGET_OFFLOAD={said} is none of {', '.join(POLICIES)}"
        yield Finding("OMP206", "warning", message, "correct it or take it out")
    elif policy(env) == "DISABLED":
        message = "OMP_TARGET_OFFLOAD=DISABLED keeps every region on the host"
        yield Finding("OMP206", "warning", message, "take it out of the environment")
    default = env.get("OMP_DEFAULT_DEVICE", "")
    if default and not default.isdecimal():
        message = f"OMP_DEFAULT_DEVICE={default} is no number of a device"
        yield Finding("OMP206", "warning", message, "correct it or take it out")
    elif default and count and _device(machine) >= count:
        message = f"OMP_DEFAULT_DEVICE={default}: there are {count} devices, from 0 on"
        yield Finding("OMP206", "error", message, "correct it or take it out")
    for name in ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"):
        if env.get(name) in ("", "-1"):
            message = f"{name} hides every GPU"
            yield Finding("OMP206", "warning", message, "take it out of the environment")
    for name in ("OMPTOOL_PLUGINS", "OMPTOOL_PLUGIN_PATH"):
        if env.get(name):
            message = f"{name}={env[name]} decides which plugins there are"
            yield Finding("OMP206", "info", message, "take it out to use all that are installed")


def _read_only_tmp(program: FatBinary, machine: Machine) -> Iterator[Finding]:
    """D07: LLVM's runtimes write images for the CPU to /tmp, whatever TMPDIR says."""
    release = machine.runtime.release if machine.runtime else None
    writes = (release or 0) >= FIRST_TO_WRITE and any(i.kind == "elf" for i in program.images)
    if writes and not machine.can_write_tmp:
        message = "/tmp cannot be written to, where LLVM's runtime puts images for the CPU"
        yield Finding("OMP207", "warning", message, RUN)
