# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A host's link command with the device code of its objects: linked, wrapped and registered."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from packager.abi import newest, release_of
from packager.errors import FindingError, FormatError, UsageError
from packager.files.portable import exists, is_file
from packager.generations import named, of_release
from packager.host_machines import MACHINES
from packager.hosts.load import load
from packager.layouts import WRITTEN, WrittenAbi
from packager.linking import agreement, machines
from packager.linking.archives import parsed_parts, taken
from packager.linking.cpu.link import Libraries
from packager.linking.deferred import DeferredPart
from packager.linking.groups import Group, grouped
from packager.linking.host_command import Given, HostCommand
from packager.linking.images import DeviceOptions, link_group
from packager.linking.inputs import LOOK, HostPart, Objects, objects
from packager.linking.libraries import linked
from packager.linking.tools import Tools
from packager.look import Look
from packager.model import FatBinary, Finding
from packager.records import NamedTuple
from packager.writers.generation import in_section

if TYPE_CHECKING:
    from packager.host_machines.machine import HostMachine
    from packager.writers.requests import ImageRequest
    from packager.writers.wrapper import Wrapper

WRAPPER = "wrapper.o"
# Modules that write the wrapper, imported while the images are linked.
WRITERS = ("packager.writers.requests", "packager.writers.object_writer")
RUNTIME = "libomptarget.so"
LIBOMPS = "__kmpc_global_thread_num"
LIBOMP_FILES = ("libomp.", "libiomp5.", "libomp5.", "libgomp.")
LAST_CALLING_LIBOMP = 17  # without linking with it
# Warnings about the requested form: an older runtime's, and a relocatable link.
EXPECTED = ("OMP113", "OMP123")
ANOTHERS = "another command writes this file, too: give each link an output of its own"


class Options(NamedTuple):
    """The user's options for a link."""

    abi: str  # ABI of the wrapper; "": the objects'
    device: DeviceOptions
    warn: Callable[[str], None]
    runtime: Callable[[], Path | None]  # the libomptarget of a command that names none
    folder: Callable[[], Path]  # folder of omptool's own libraries
    force: bool = False  # leave a result in which verify finds an error
    sets_rpath: bool = True  # to the folder of `runtime`


def link(command: HostCommand, options: Options, tools: Tools) -> int:
    """Run `command` with the wrapper of the images that its objects' device code makes.

    Returns the command's own exit code. Raises UsageError, FormatError for objects that cannot be
    linked together, LinkError where a device's linker fails, MissingToolError without it, and
    FindingError when verify finds an error in the result.
    """
    tools.options_at = command.options_at
    # Without offload code in its inputs, the command runs unchanged.
    with ExitStack() as opened:
        files = linked(command, tools, LOOK)
        found = objects(files, tools.folder, opened, in_memory=tools.in_memory)
        if not found.parts:
            return _passed_on(found, command, options, tools)
        parsed = [part for part in found.parts if isinstance(part, HostPart)]
        images = (one.image for part in parsed for one in part.parts)
        is_joined = any(image.kind == "bitcode" for image in images)
        with tools.with_worker(is_joined and options.device.cache is None):
            return _linked(found, command, options, tools)


def _linked(found: Objects, command: HostCommand, options: Options, tools: Tools) -> int:
    # The host's own linker decides which members of archives it links, in a trial link with our
    # runtime if the command names none.
    command, runtime = _with_runtime(command, options, _first(found.parts))
    added = () if runtime is None else (str(runtime),)
    parts = taken(found.parts, command, added, tools)
    machine = machines.of_objects(parts)
    machines.expect_runtimes(command, machine.name)

    # Link one image for each target.
    agreement.expect_one_form(parts)
    tables = [table for part in parts for table in part.binary.tables]
    if options.abi:
        agreement.expect_abi(parts, in_section(WRITTEN[options.abi], tables))
    groups = grouped(parts)
    for line in agreement.differences(parts, groups):
        options.warn(line)
    libraries = Libraries(command, _barred(found), runtime, machine.name, options.folder)
    tools.load_beside(*WRITERS)
    entries = {entry.name for table in tables for entry in table.entries if entry.name}
    images = [_image(group, libraries, options, tools, entries) for group in groups]

    # Link the program with the wrapper.
    if not images:
        return tools.link(command.with_words((), added))
    wrapper = tools.folder / WRAPPER
    abi = in_section(WRITTEN[_abi(parts, options)], tables)
    if not tools.is_dry:
        _wrap(wrapper, images, abi, machine, kept=_kept(parts), used=_of_libomp(command))
    tools.load_beside("packager.checks")
    code = tools.link(command.with_words([str(wrapper)], added))
    if code == 0 and not tools.is_dry and _is_written(command.output, options):
        if command.is_relocatable:
            from packager.linking.relocatable import close

            close(command.output, abi.entries_section, [image.path for image in images])
        result = check(command.output, options)
        if command.names_runtime and _without_libomp(result):
            calls = f"the runtime of {result.abi} calls libomp"
            options.warn(f"{calls}: add -lomp after the objects")
    return code


def _passed_on(found: Objects, command: HostCommand, options: Options, tools: Tools) -> int:
    """Run the command as it is; objects that a relocatable link has closed need a runtime."""
    machine = next((MACHINES.get(one.machine or "") for one in found.closed), None)
    if machine is None:
        return tools.link(command.words)
    command, runtime = _with_runtime(command, options, machine)
    return tools.link(command.with_words((), () if runtime is None else (str(runtime),)))


def _with_runtime(
    command: HostCommand, options: Options, machine: HostMachine
) -> tuple[HostCommand, Path | None]:
    """Return the command with the runtime added if it names none, and the runtime's path."""
    if command.names_runtime or command.is_relocatable:
        return command, None
    runtime = options.runtime()
    if runtime is None:
        return command, None
    machines.expect_runtime(runtime, machine.name)
    if command.is_static and ".so" in runtime.suffixes:
        what = "is a shared library, and the command links statically"
        raise UsageError(f"{what}: name a runtime in it, or with --runtime", runtime)
    if options.sets_rpath:
        command = command._replace(leading=command.finding(runtime.parent))
    return command, runtime


def _first(parts: Sequence[HostPart | DeferredPart]) -> HostMachine:
    """Return the machine of the objects that are linked unconditionally."""
    fixed = [part for part in parts if part.archive is None or part.is_whole]
    return machines.of_objects(parsed_parts(fixed or parts))


def _is_written(output: Path, options: Options) -> bool:
    """Return whether the command writes a file: -o /dev/null and clang's -### do not."""
    if not exists(output):
        options.warn(f"{output} is missing: the command did not write it, so nothing is verified")
    return is_file(output)


def _image(
    group: Group, libraries: Libraries, options: Options, tools: Tools, entries: Collection[str]
) -> ImageRequest:
    path, warning = link_group(group, libraries, options.device, tools, entries)
    for line in warning.splitlines():
        options.warn(f"{group.name}: {line}")
    from packager.writers.requests import ImageRequest

    return ImageRequest(group.triple, group.arch, path)


def _barred(found: Objects) -> frozenset[Given]:
    """Return the archives of objects that have host code as well as device code."""
    of_devices = {part.archive.resolve() for part in found.parts if part.archive}
    return frozenset(file.named for file in found.archives if file.path.resolve() in of_devices)


def _abi(parts: Sequence[HostPart], options: Options) -> str:
    """Return the ABI of the objects' tables; without entries, that of their compiler."""
    if options.abi:
        return options.abi
    abis = {table.abi for part in parts for table in part.binary.tables}
    abis = abis or {of_release(number).name for part in parts for number in part.releases}
    if not abis:
        raise UsageError("no object has an entry table: name the runtime with --abi")
    return newest(abis)


def _wrap(
    path: Path, images: Sequence[ImageRequest], abi: WrittenAbi, machine: HostMachine,
    *, kept: list[str], used: list[str],
) -> None:  # fmt: skip
    """Write the wrapper, which uses the objects' table. It is not verified; the result is."""
    from packager.files.reader import OpenFiles
    from packager.writers.requests import for_openmp
    from packager.writers.wrapper import build

    with OpenFiles() as files:
        inputs, _ = for_openmp(images, files, force=True)
        wrapper = build(inputs, [], abi, machine, alone=True, kept=kept, used=used)
        _store(path, wrapper, machine)


def _store(path: Path, wrapper: Wrapper, machine: HostMachine) -> None:
    from packager.writers.host_object import blank_host
    from packager.writers.object_writer import write_object

    try:
        with path.open("wb") as file:
            write_object(file, blank_host(machine), wrapper.sections, wrapper.symbols)
    except OSError as error:
        raise UsageError(f"cannot be written: {error.strerror}", path) from error


def _kept(parts: Sequence[HostPart]) -> list[str]:
    """Return a symbol of each object's records; of a symbol that objects share, the first one's.

    Under -z start-stop-gc a linker drops records although the names of their bounds are used.
    """
    chosen: list[str] = []
    seen: set[str] = set()
    for part in parts:
        own = [name for name in part.entry_symbols if name not in seen]
        chosen += own[:1]
        seen.update(own)
    return chosen


def _of_libomp(command: HostCommand) -> list[str]:
    """Return a symbol of libomp if the command names libomp, so that --as-needed keeps it.

    LLVM's offloading runtime calls libomp, and up to 18 does not link with it. It may replace ours.
    """
    is_program = not command.is_relocatable
    return [LIBOMPS] if is_program and command.names_libomp else []


def _without_libomp(binary: FatBinary) -> bool:
    """Return whether a program lacks the libomp that LLVM's runtime calls up to release 17."""
    row = named(binary.abi)
    is_old = row is not None and row.last_release <= LAST_CALLING_LIBOMP
    return (
        binary.type == "executable"
        and is_old
        and not any(name.startswith(LIBOMP_FILES) for name in binary.needed)
    )


def _without_release(binary: FatBinary) -> FatBinary:
    """Return the file with releases removed from the names of LLVM's runtime."""
    named = (RUNTIME if release_of(library) else library for library in binary.needed)
    return binary._replace(needed=tuple(named))


def _state(path: Path) -> tuple[int, ...]:
    """Return facts that distinguish states of a file; zeros if the file is empty."""
    status = path.stat()
    return (status.st_ino, status.st_size, status.st_mtime_ns) if status.st_size else (0, 0, 0)


def check(path: Path, options: Options) -> FatBinary:
    """Check the output as `bundle` does; the linker has already written it under its name.

    A fault of the runtime that the file needs is a warning: `omptool run` replaces that runtime.
    Raises FindingError, and removes the file, if verify finds another error.
    """
    from packager.checks import verify

    written = _state(path)
    try:
        binary = load(path, Look(resources=False, host_only=True))
        findings: list[Finding] = verify(binary)
    except FormatError as error:
        now = _state(path)
        raise UsageError(str(error) if now == written and any(now) else ANOTHERS, path) from error
    for finding in findings:
        if finding.severity == "warning" and finding.code not in EXPECTED:
            options.warn(f"{finding.code}: {finding.message}")
    errors = [finding for finding in findings if finding.severity == "error"]
    if errors:
        elsewhere = verify(_without_release(binary))
        for finding in errors:
            if finding not in elsewhere:
                options.warn(f"{finding.code}: {finding.message}; {finding.hint}")
        errors = [finding for finding in errors if finding in elsewhere]
    if errors and not options.force:
        path.unlink(missing_ok=True)
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        what = f"{path}: {errors[0].code}: {errors[0].message}{more}"
        raise FindingError(f"{what}; not kept without --force")
    return binary
