# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Predict what a runtime does with a program, from facts of the file and the machine. No I/O."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from packager import newer
from packager.checks.loading import undefined
from packager.conventions import are_called, called_by, in_words
from packager.machine import gcc_runtime, other_runtimes
from packager.machine.checks import findings, general_findings, unfit
from packager.machine.dynamic_loader import Library
from packager.machine.facts import (
    CPU_PLUGIN,
    NODES,
    Answer,
    Diagnosis,
    EntryFate,
    ImageFate,
    Machine,
    Owner,
)
from packager.machine.llvm_runtime import Outcome, Surroundings, default_device, outcome, policy
from packager.machine.program import UNDER_RUN
from packager.machine.runtimes import is_asked
from packager.model import DeviceImage, EntryTable, FatBinary, Finding, OffloadEntry
from packager.pairing import entry_states, needs_device
from packager.triples import GPUS, code_of
from packager.wording import counted, there_are

UPDATE = "update omptool: it does not foresee what becomes of that part"


def diagnose(program: FatBinary, machine: Machine, *, is_verbose: bool = False) -> Diagnosis:
    """Return the fates of images and entries, with findings OMP201 to OMP209.

    With `is_verbose`, include findings that seldom matter.
    """
    obstacle = machine.refusal or _obstacle(machine.under_run)
    if program.abi == "gcc":
        found = gcc_runtime.diagnose(program, machine)
        general = general_findings(machine)
        others = other_runtimes.diagnose(program, machine)
        said = (*general, *found.findings)
        return replace(found, findings=said, obstacle=obstacle, others=others)
    if machine.rights:
        obstacle = f"{machine.rights}: {UNDER_RUN}"
    images, entries, count = _fates(program, machine)
    openmp = _openmp(program)
    mine = [fate for fate in images if fate.image.index in openmp]
    said = (
        *_newer(program),
        *findings(program, machine, mine, entries, count, is_verbose=is_verbose),
    )
    end = _end(program, machine) if entries else ""
    others = other_runtimes.diagnose(program, machine)
    sigill = next(filter(None, (unfit(machine, fate) for fate in images)), "")
    found = Diagnosis(
        images, entries, count, said, obstacle=obstacle, end=end, others=others, unfit=sigill
    )
    return replace(found, without_run=_without_run(program, machine, found))


def _fates(
    program: FatBinary, machine: Machine
) -> tuple[tuple[ImageFate, ...], tuple[EntryFate, ...], int]:
    """Return the fates of images and entries, and the number of devices."""
    images = _images(program, machine)
    count = 1 + max((number for fate in images for number in fate.devices), default=-1)
    return images, tuple(_entries(program, machine, images, count)), count


def _newer(program: FatBinary) -> Iterator[Finding]:
    """Yield OMP202 for a compiler, or another tool, that came after this omptool."""
    found = newer.newer_compiler(program)
    if found:
        yield Finding("OMP202", found.severity, found.sentence, newer.CURE)
    for part in program.newer:
        message = f"a part of the program is of a newer format: {part}"
        yield Finding("OMP202", "warning", message, UPDATE)


def _openmp(program: FatBinary) -> set[int]:
    """Return the numbers of images that are registered with OpenMP's runtime, or not at all.

    Unregistered images beside images for other runtimes do not count.
    """
    used = {index for descriptor in program.descriptors for index in descriptor.images}
    return used if program.registrations else {image.index for image in program.images}


def _end(program: FatBinary, machine: Machine) -> str:
    """Return the plugin that ends the program when the runtime calls it; "" if none does."""
    if policy(machine.environment) == "DISABLED":
        return ""  # nobody comes to a plugin
    if machine.fatal_plugin:
        return machine.fatal_plugin
    registered = {index for descriptor in program.descriptors for index in descriptor.images}
    for index in sorted(registered):
        last = next((answer for answer in machine.answers[index] if answer.fatal), None)
        if last:
            return f"plugin {last.plugin} ends the program: {last.reason}"
    return ""


def _obstacle(libraries: Sequence[Library]) -> str:
    """Return why the loader does not start a program with these libraries; "" if it does."""
    return next((library.lack for library in libraries if library.lack), "")


def _without_run(program: FatBinary, machine: Machine, found: Diagnosis) -> Outcome | None:
    """Return the outcome on the runtime that the loader picks; None if the program needs none."""
    asks = any(is_asked(library, program.runtimes) for library in machine.libraries)
    if not asks or program.abi == "proposal" or not found.entries:
        return None
    obstacle = machine.refusal or _obstacle(machine.libraries)
    if obstacle or machine.runtime is None:
        return Outcome("fails", obstacle)
    if machine.runtime.release is None:
        return _on_another(program, machine.alone or machine)
    drivers = {NODES[name][1] for name in _gpus(program) if name in NODES}
    lack = next(filter(None, machine.lacks_alone), "")
    has_gpu = bool(drivers & machine.files)
    fault = _fault(program, machine)
    around = Surroundings(machine.environment, has_gpu, machine.tmp.problem, lack, fault)
    return outcome(program, machine.runtime, around)


def _fault(program: FatBinary, machine: Machine) -> str:
    """Return the fault of an image on this machine, by its bytes or by the CPU's plugin."""
    codes = [(i, i.contents.machine or code_of(i.triple)) for i in program.images]
    mine = [image for image, code in codes if image.kind == "elf" and code == program.machine]
    answers = (answer for image in mine for answer in machine.answers[image.index])
    refusals = (a.reason for a in answers if a.plugin == CPU_PLUGIN and not a.accepts)
    problems = (image.contents.problem for image in mine if image.contents.problem)
    return next(refusals, next(problems, ""))


def _on_another(program: FatBinary, machine: Machine) -> Outcome:
    """Return the outcome on an omptool runtime that the loader picks."""
    if machine.unasked:
        return Outcome("unknown", machine.unasked)
    _, entries, _ = _fates(program, machine)
    end = _end(program, machine)
    if end:
        return Outcome("fails", end)
    reason = next((fate.reason for fate in entries if fate.reason), "")
    if reason and policy(machine.environment) == "MANDATORY":
        return Outcome("fails", f"OMP_TARGET_OFFLOAD is MANDATORY, and {reason}")
    return Outcome("host" if reason else "device", reason or "it is omptool's runtime")


def _gpus(program: FatBinary) -> set[str]:
    """Return the processors of the images, from their bytes if these name one."""
    return {(image.contents.machine or image.triple).split("-")[0] for image in program.images}


def _images(program: FatBinary, machine: Machine) -> tuple[ImageFate, ...]:
    """Return each image's devices, numbered by image, then plugin; each plugin counts once."""
    numbered: dict[str, tuple[int, ...]] = {}
    others = other_runtimes.rules(program, machine)
    total = 0
    fates = []
    for image, answers in zip(program.images, machine.answers, strict=True):
        if image.index in others:
            found = others[image.index]
            fates.append(ImageFate(image, (), found.rule, found.is_taken))
            continue
        if not any(image.index in d.images for d in program.descriptors):
            fates.append(ImageFate(image, (), "nothing registers it"))
            continue
        plugins = [answer.plugin for answer in answers if answer.accepts]
        for plugin in plugins:
            if plugin not in numbered:
                numbered[plugin] = tuple(range(total, total + machine.devices.get(plugin, 0)))
                total += machine.devices.get(plugin, 0)
        elsewhere = "" if plugins else _of_another_machine(image, program)
        rule = elsewhere or _rule(plugins, answers, machine)
        owners = tuple(Owner(plugin, numbered[plugin]) for plugin in plugins)
        fates.append(ImageFate(image, owners, rule))
    return tuple(fates)


def _of_another_machine(image: DeviceImage, program: FatBinary) -> str:
    """Return why no plugin accepts code for another CPU; "" for all other images."""
    own, its = program.machine, image.contents.machine
    if image.kind != "elf" or None in (own, its) or own == its or its in GPUS:
        return ""
    return f"it is for {its}, and this machine is {own}"


def _rule(plugins: Sequence[str], answers: Sequence[Answer], machine: Machine) -> str:
    """Return which plugins accept an image, and why their devices do not run it, as a rule."""
    if plugins:
        return "; ".join(_acceptances(plugins, machine))
    if not answers:
        return "there is no plugin"
    said = (f"{a.plugin}: {a.reason or 'it does not accept it'}" for a in answers)
    return "; ".join(said)


def _acceptances(plugins: Sequence[str], machine: Machine) -> Iterator[str]:
    """Yield clauses: those that have devices, those that have none, and devices that may refuse."""
    able = [plugin for plugin in plugins if plugin not in machine.deviceless]
    if able:
        does = "accepts" if len(able) == 1 else "accept"
        yield f"plugin{'s' if len(able) > 1 else ''} {' and '.join(able)} {does} it"
    for plugin in plugins:
        if plugin in machine.deviceless:
            reason = machine.deviceless[plugin]
            yield f"plugin {plugin} accepts it, but has no device {reason}".rstrip()
    for plugin in able:
        kinds = machine.architectures.get(plugin, ())
        if len(kinds) > 1:  # decision 34: it answers for all of them
            yield f"a device of plugin {plugin} ({', '.join(kinds)}) may refuse to load it"


def _entries(
    program: FatBinary, machine: Machine, images: Sequence[ImageFate], count: int
) -> Iterator[EntryFate]:
    states = iter(entry_states(program))
    found = newer.newer_compiler(program)
    later = found.sentence if found and found.is_ignored else ""
    for table in program.tables:
        rows = [(entry, next(states)) for entry in table.entries]
        broken = _broken(table, rows, images)
        for entry, row in rows:
            if not needs_device(entry):
                continue
            reason = _policy(machine, count) or later or broken
            device = _device(machine)
            fitting = [
                fate
                for fate in images
                if device in fate.devices and fate.image.index in table.images
            ]
            if not reason:
                reason = (
                    _no_device(machine, images)
                    or _absence(entry, row, fitting, device)
                    or _uncalled(program, fitting[0].image)
                    or _unloadable(fitting, machine)
                )
            where = "host"
            if fitting and not reason:
                where = f"device {device} ({fitting[0].plugin_of(device)})"
            yield EntryFate(entry, where, reason)


def _uncalled(program: FatBinary, image: DeviceImage) -> str:
    """Return why the runtime does not call the image's kernels; "" if it does."""
    kernels = image.contents.clangs
    if image.kind != "elf" or are_called(program.clangs, kernels):
        return ""
    called = in_words(called_by(max(program.clangs)))
    what = f"image {image.index} has kernels of clang {max(kernels)}"
    return f"{what}, and the program calls those of clang {called} only"


def _unloadable(fitting: Sequence[ImageFate], machine: Machine) -> str:
    """Return why the plugin refuses every image for a device; "" if it loads one."""
    lacks = [_lack(fate.image, machine) for fate in fitting]
    return f"its image cannot be loaded: {lacks[0]}" if lacks and all(lacks) else ""


def _lack(image: DeviceImage, machine: Machine) -> str:
    """Return why dlopen, or a GPU's driver, does not load an image; "" if it does."""
    if image.contents.machine in GPUS and (lack := undefined(image)):
        return f"it {lack}"
    return machine.lacks[image.index] if image.index < len(machine.lacks) else ""


def _policy(machine: Machine, count: int) -> str:
    """Return why the environment keeps every entry on the host; "" if it does not."""
    if policy(machine.environment) == "DISABLED":
        return "OMP_TARGET_OFFLOAD is DISABLED"
    if count and _device(machine) >= count:
        return f"OMP_DEFAULT_DEVICE is {_device(machine)}, and {there_are(count, 'device')}"
    return ""


def _device(machine: Machine) -> int:
    return default_device(machine.environment)


def _broken(
    table: EntryTable,
    rows: Sequence[tuple[OffloadEntry, Sequence[str]]],
    images: Sequence[ImageFate],
) -> str:
    """Return why a table's regions all stay on the host; "" if they do not.

    A variable that an image lacks has this effect, and so have different entries in an image if
    host and image pair them by position.
    """
    for fate in images if not table.has_names else ():
        places = fate.image.contents.places
        is_used = fate.devices and fate.image.index in table.images
        if is_used and fate.image.kind == "elf" and len(places or ()) != len(rows):
            what = f"the host lists {counted(len(rows), 'entry')}, image {fate.image.index} "
            return f"{what}{len(places or ())}, and without names they pair by position"
    for entry, states in rows:
        for fate in images:
            state = states[fate.image.index]
            is_used = fate.devices and fate.image.index in table.images
            if is_used and entry.kind in ("global", "link") and state == "missing":
                return f"image {fate.image.index} lacks the variable {entry.label}"
            if is_used and not table.has_names and state in ("size", "kind"):
                return f"image {fate.image.index} has another size for entry {entry.label}"
    return ""


def _no_device(machine: Machine, images: Sequence[ImageFate]) -> str:
    """Return why there is no device, in the runtime's words; "" if there is one."""
    if any(fate.devices for fate in images):
        return ""
    for fate in images:
        if fate.owners:
            return f"there is no device: {machine.have_none(fate.owners)}"
    rules = [f"image {fate.image.index}: {fate.rule}" for fate in images]
    return f"there is no device: {'; '.join(rules) or 'the program has no image'}"


def _absence(
    entry: OffloadEntry,
    states: Sequence[str],
    fitting: Sequence[ImageFate],
    device: int,
) -> str:
    if not fitting:
        return f"there is no image for device {device}"
    if all(states[fate.image.index] == "missing" for fate in fitting):
        return f"image {fitting[0].image.index} lacks it"
    return ""
