# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Check for missing parts of a machine that a program needs, and obstacles: OMP201 to OMP208."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from packager.checks.loading import PACKAGED, renamed_libraries
from packager.foreign_runtimes import unread
from packager.host_machines import instruction_sets
from packager.machine.facts import FOLDERS, NODES, EntryFate, ImageFate, Machine
from packager.machine.llvm_runtime import default_device, policy
from packager.machine.runtimes import UNNAMED
from packager.model import FatBinary, Finding, Severity
from packager.wording import counted, runs

OPENMP = ("libomp.so", "libiomp5.so", "libgomp.so")
LLVM = re.compile(r"libLLVM[-.].*")
RUN = "start it with `omptool run`"
DRIVER = "install the driver, or run where there is one"
POLICIES = ("DEFAULT", "MANDATORY", "DISABLED")
# Prefix of variables of LLVM's runtimes, and the only one that omptool's reads.
PREFIX = "LIBOMPTARGET_"
READ = "LIBOMPTARGET_INFO"
LARGE = 1 << 30  # bytes of old images that are worth a line
XNACK = {"0": "-", "1": "+"}  # HSA_XNACK, and how it stands in a target id


def findings(
    program: FatBinary,
    machine: Machine,
    images: Sequence[ImageFate],
    entries: Sequence[EntryFate],
    count: int,
    *,
    is_verbose: bool = False,
) -> Iterator[Finding]:
    """Yield the findings for a program compiled by clang that sees `count` devices."""
    yield from _unresolved(machine)
    yield from _generation(program, machine)
    yield from _two_of_a_kind(machine)
    yield from _renamed(program)
    yield from _another_release(program, machine)
    yield from _without_device(machine, images)
    yield from _unfit(machine, images)
    yield from _environment(machine, count)
    yield from _variables_of_runtimes(program, machine)
    yield from _tmp(program, machine, is_verbose=is_verbose)
    yield from _fatal(machine, entries)


def general_findings(machine: Machine) -> Iterator[Finding]:
    """Yield the findings that hold for every program, whichever runtime runs it."""
    yield from _unresolved(machine)
    yield from _two_of_a_kind(machine)
    yield from _environment(machine, None)


def _unresolved(machine: Machine) -> Iterator[Finding]:
    """Report libraries that the loader does not find (OMP201)."""
    helped = {library.name for library in machine.under_run if library.path is None}
    for library in machine.libraries:
        if library.path is not None:
            continue
        places = ", ".join((*library.searched, "the cache of ldconfig", "the default folders"))
        message = f"{library.lack} in {places}"
        hint = "install it, or name its folder in LD_LIBRARY_PATH"
        is_ours = library.name not in helped
        yield Finding(
            "OMP201", "warning" if is_ours else "error", message, RUN if is_ours else hint
        )
    if machine.runtime and machine.runtime.lack:
        message = f"{machine.runtime.path} cannot use images for the CPU: {machine.runtime.lack}"
        yield Finding("OMP201", "warning", message, RUN)


def _generation(program: FatBinary, machine: Machine) -> Iterator[Finding]:
    """Report a runtime of LLVM's that cannot read the program's records (OMP202)."""
    runtime = machine.runtime
    if runtime is None or not runtime.release or program.abi in (None, "proposal"):
        return
    reason = unread(program, runtime.release)
    if reason:
        said = f"the loader picks LLVM {runtime.release}'s runtime, {runtime.path}: {reason}"
        yield Finding("OMP202", "warning", said, RUN)


def _two_of_a_kind(machine: Machine) -> Iterator[Finding]:
    """Report two OpenMP runtimes, or two libLLVM, in one process (OMP203)."""
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


def _renamed(program: FatBinary) -> Iterator[Finding]:
    """Report images that need a library of the host under its old name (OMP203)."""
    for image in program.images:
        for message in renamed_libraries(image, program.needed):
            yield Finding("OMP203", "error", message, PACKAGED, None, image.index)


def _another_release(program: FatBinary, machine: Machine) -> Iterator[Finding]:
    """Report a runtime that reads the program but is of another release (OMP203)."""
    release = machine.runtime.release if machine.runtime else None
    if not release or not machine.clangs or unread(program, release):
        return
    if release not in machine.clangs and max(release, *machine.clangs) > UNNAMED:
        clangs = " and ".join(map(str, machine.clangs))
        message = f"the loader picks LLVM {release}'s runtime for code of clang {clangs}"
        hint = f"name the folder of LLVM {max(machine.clangs)}'s libraries in LD_LIBRARY_PATH"
        yield Finding("OMP203", "warning", message, hint)


def _without_device(machine: Machine, images: Sequence[ImageFate]) -> Iterator[Finding]:
    """Report images without a device (OMP204, OMP205, OMP208)."""
    for fate in images:
        if fate.devices:
            continue
        image = fate.image
        what = f"image {image.index} ({image.target}) has no device"
        node, driver = NODES.get((image.contents.machine or image.triple).split("-")[0], ("", ""))
        others = bool(machine.devices) and any(other.devices for other in images)
        severity: Severity = "info" if others else "warning"
        if fate.owners:
            hint = DRIVER if fate.owners[0].plugin in machine.deviceless else RUN
            yield Finding("OMP205", severity, f"{what}: {machine.have_none(fate.owners)}", hint)
            continue
        if node and driver not in machine.files:
            message = f"{what}: the driver's library {driver} is not on this machine"
            yield Finding("OMP204", severity, message, DRIVER, None, image.index)
            if node in machine.files:
                message = f"{node} is there, but the driver's library {driver} is not"
                yield Finding("OMP208", "info", message, "install the driver's libraries")
            continue
        message = f"{what}: {fate.rule}"
        hint = "give the program an image for a device of this machine"
        yield Finding("OMP205", severity, message, hint, None, image.index)


def _unfit(machine: Machine, images: Sequence[ImageFate]) -> Iterator[Finding]:
    """Report code for another processor of this machine's architecture (OMP205)."""
    for fate in images:
        problem = unfit(machine, fate)
        if problem:
            hint = "compile with -Xopenmp-target -march= for this machine, or run on another one"
            message = f"{problem}: a kernel that uses them ends the program by SIGILL"
            yield Finding("OMP205", "error", message, hint, None, fate.image.index)


def unfit(machine: Machine, fate: ImageFate) -> str:
    """Return the CPU features that an image may use and this machine lacks, in words."""
    image = fate.image
    sets = instruction_sets.MACHINES.get(image.contents.machine or "")
    if not (sets and image.kind == "elf" and fate.devices and machine.processor):
        return ""
    absent = sets.lacking(image.processor, image.features, machine.processor)
    features = f"features {image.features}" if image.features else ""
    named = " with ".join(filter(None, (image.processor, features)))
    what = f"image {image.index} is for {named}, and this machine's processor lacks"
    return f"{what} {', '.join(absent)}" if absent else ""


def _fatal(machine: Machine, entries: Sequence[EntryFate]) -> Iterator[Finding]:
    """Report a mandatory offload that the first region cannot do (OMP206)."""
    reason = next((fate.reason for fate in entries if fate.reason), "")
    if reason and policy(machine.environment) == "MANDATORY":
        message = (
            f"OMP_TARGET_OFFLOAD=MANDATORY: the first region ends the program, because {reason}"
        )
        yield Finding("OMP206", "error", message, "unset it, or remove the cause")


def _environment(machine: Machine, count: int | None) -> Iterator[Finding]:
    """Report variables of the environment (OMP206); `count` is the number of devices, if known."""
    env = machine.environment
    said = env.get("OMP_TARGET_OFFLOAD", "")
    if said and policy(env) not in POLICIES:
        message = f"OMP_TARGET_OFFLOAD={said} is not one of {', '.join(POLICIES)}"
        yield Finding("OMP206", "warning", message, "correct or unset it")
    elif policy(env) == "DISABLED":
        message = "OMP_TARGET_OFFLOAD=DISABLED keeps every region on the host"
        yield Finding("OMP206", "warning", message, "unset it")
    default = env.get("OMP_DEFAULT_DEVICE", "")
    if default and not default.isdecimal():
        message = f"OMP_DEFAULT_DEVICE={default} is not a device number"
        yield Finding("OMP206", "warning", message, "correct or unset it")
    elif default and count and default_device(env) >= count:
        message = (
            f"OMP_DEFAULT_DEVICE={default} names no device; known numbers: {runs(range(count))}"
        )
        yield Finding("OMP206", "error", message, "correct or unset it")
    if machine.ignored:
        message = f"{machine.rights}: the loader and the runtime ignore "
        message += ", ".join(machine.ignored)
        hint = "link the program with the runtime's folder as -rpath, without $ORIGIN"
        yield Finding("OMP206", "warning", message, hint)
    for name in ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"):
        if env.get(name) in ("", "-1"):
            message = f"{name} hides every GPU"
            yield Finding("OMP206", "warning", message, "unset it")
    for folder, reason in machine.unread_folders.items():
        message = f"{FOLDERS} names {folder}, which cannot be read: {reason}"
        yield Finding("OMP206", "warning", message, "correct or unset it")
    for name in ("OMPTOOL_PLUGINS", FOLDERS):
        if env.get(name):
            message = f"{name}={env[name]} selects the plugins"
            yield Finding("OMP206", "info", message, "unset it to use all installed plugins")


def _variables_of_runtimes(program: FatBinary, machine: Machine) -> Iterator[Finding]:
    """Report variables that only other runtimes read, and HSA_XNACK (OMP206)."""
    for name in sorted(machine.environment):
        if name.startswith(PREFIX) and name != READ:
            message = f"{name} is for LLVM's runtimes: omptool's does not read it"
            yield Finding("OMP206", "info", message, f"{READ}=-1 shows what the runtime does")
    wanted = XNACK.get(machine.environment.get("HSA_XNACK", ""))
    for image in program.images:
        compiled = re.search(r":xnack([+-])", image.processor)
        if wanted and image.kind == "amdgcn" and compiled and compiled[1] != wanted:
            value = machine.environment["HSA_XNACK"]
            message = f"HSA_XNACK={value} does not fit image {image.index}, for {image.processor}"
            yield Finding("OMP206", "warning", message, "change one of them", None, image.index)


def _tmp(program: FatBinary, machine: Machine, *, is_verbose: bool) -> Iterator[Finding]:
    """Report a /tmp that is unfit for LLVM's runtimes, which ignore TMPDIR (OMP207)."""
    is_llvm = machine.runtime is not None and machine.runtime.release is not None
    if not is_llvm or not any(image.kind == "elf" for image in program.images):
        return
    if machine.tmp.problem:
        message = f"/tmp {machine.tmp.problem}, where LLVM's runtime puts images for the CPU"
        yield Finding("OMP207", "warning", message, RUN)
    tmp = machine.tmp
    if tmp.size > LARGE or (tmp.left and is_verbose):
        images = f"{counted(tmp.left, 'image')} of {counted(tmp.size, 'byte')}"
        message = f"LLVM's runtimes have left {images} in /tmp"
        yield Finding(
            "OMP207", "info", message, "delete /tmp/tmpfile_*; omptool's runtime leaves none"
        )
