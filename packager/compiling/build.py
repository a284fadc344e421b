# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The three steps in one: compile for the host and each device, link devices, link the host."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from packager.compiling import kernels, rules
from packager.compiling.command import MADE, CompileCommand
from packager.compiling.compilers import clangs_release
from packager.compiling.fortran import flangs_release
from packager.compiling.sources import Compiling, compile_elsewhere, compile_source
from packager.compiling.spelling import expect_named
from packager.compiling.targets import OPENMP, QUIET, Target, expect_able
from packager.errors import PackagerError, UsageError
from packager.host_machines import written
from packager.linking import host_command
from packager.linking.images import DeviceOptions
from packager.linking.inputs import unused
from packager.linking.libraries import machine_of_link
from packager.linking.link import Options as LinkOptions
from packager.linking.link import check, link
from packager.linking.machines import expect_runtimes
from packager.linking.tools import Tools
from packager.records import NamedTuple
from packager.writers.bundle import EntrySource, ImageRequest


class Options(NamedTuple):
    """The user's options for `omptool cc`."""

    targets: Sequence[Target]
    includes: Path
    runtime: Path
    warn: Callable[[str], None]
    entries: EntrySource = "host"  # source of the entries of kernels in LLVM IR
    libraries: tuple[Path, ...] = ()  # bitcode of functions that kernels call
    keeps_ptx: bool = False  # even if ptxas could assemble it
    force: bool = False
    sets_rpath: bool = True  # to the folder of `runtime`


def build(command: CompileCommand, options: Options, tools: Tools) -> int:
    """Run the steps of `command`; return the exit code of the first failed program, or 0.

    Raises the errors of link(), lower() and bundle(), and MissingToolError without a compiler.
    """
    if command.end == "other":
        tools.options_at = len(command.driver)
        return tools.pass_on([*command.driver, *command.words])
    has_kernels = bool(command.of_kind("kernels"))
    release = clangs_release(command.compiler)
    compiles_devices = release is not None and not has_kernels
    options = options._replace(targets=_each_able(options.targets, command.compiler))
    is_flang = bool(command.fortran) and flangs_release(command.fortran) is not None
    compiles_fortran = is_flang and not has_kernels
    how = Compiling(
        *(command, options.targets, compiles_devices, options.includes, release, compiles_fortran)
    )
    if command.end in ("code", "text"):
        return compile_elsewhere(how, tools)
    if command.of_kind("source") and not (compiles_devices or has_kernels):
        options.warn(f"{command.compiler[-1]} is not clang: its objects have no code for devices")
    if command.of_kind("fortran") and not (is_flang or has_kernels):
        options.warn(f"{command.fortran[-1]} is not flang: its objects have no code for devices")
    _expect_able(how, options.targets)
    if command.end == "object":
        return _objects(how, options, tools)
    heard = options._replace(warn=lambda line: options.warn(tools.named(line)))
    try:
        return _program(how, heard, tools)
    except PackagerError as error:
        # The error names objects in the temporary folder, which the user does not know: name their
        # sources.
        error.args = (tools.named(str(error)),)
        if isinstance(error, UsageError) and error.subject:
            error.subject = Path(tools.named(str(error.subject)))
        raise


def _expect_able(how: Compiling, targets: Sequence[Target]) -> None:
    """Raise UsageError for a target that the sources cannot be compiled for."""
    command = how.command
    has_sources = how.compiles_devices and bool(command.of_kind("source"))
    for target in targets if has_sources or how.compiles_fortran else ():
        if has_sources and how.release is not None:
            expect_able(how.release, target)
        if not target.archs and (how.compiles_fortran or not command.names_processors):
            expect_named(target.triple)


def _each_able(targets: Sequence[Target], compiler: tuple[str, ...]) -> list[Target]:
    """Return the targets, with a compiler set for CPUs that need one run per processor."""
    return [
        target._replace(compiler=target.compiler or compiler)
        if len(target.archs) > 1 and not target.is_gpu
        else target
        for target in targets
    ]


def _objects(how: Compiling, options: Options, tools: Tools) -> int:
    command = how.command
    sources = [item for item in command.inputs if item.kind in MADE]
    modules = [item.path for item in command.of_kind("kernels")]
    if modules and len(sources) != 1:
        raise UsageError("with -c, kernels go into the object of one source: give exactly one")
    for item in command.of_kind("input"):
        options.warn(f"{item.path} is ignored: with -c nothing is linked")
    for source in sources:
        out = command.output or Path(f"{source.path.stem}.o")
        if str(out) == os.devnull:  # whether there is an error, is the question
            out = unused(tools.folder, f"{source.path.stem}.o")
        made = unused(tools.folder, out.name) if modules else out
        is_whole = not modules and not any(target.compiler for target in how.targets)
        named, path = (command, None) if is_whole else rules.named(command, source.path, out)
        code = compile_source(source, made, how._replace(command=named), tools)
        if code:
            return code
        _say(path, command, tools)
        if modules:
            _bundle(made, modules, out, how, options, tools)
    return 0


def _say(path: Path | None, command: CompileCommand, tools: Tools) -> None:
    """Name the kernels in make's rules of the source that they go with."""
    modules = [item.path for item in command.of_kind("kernels")]
    if path and modules and not tools.is_dry:
        rules.add(path, modules)


def _bundle(
    host: Path, modules: Sequence[Path], out: Path, how: Compiling, options: Options, tools: Tools
) -> None:
    wanted = _images(modules, how, options, tools)
    if tools.is_dry:
        return
    for finding in kernels.into(host, wanted, options.entries, out, force=options.force):
        if finding.severity == "warning":
            options.warn(f"{finding.code}: {finding.message}")


def _program(how: Compiling, options: Options, tools: Tools) -> int:
    command = how.command
    objects = []
    for source in (item for item in command.inputs if item.kind in MADE):
        out = unused(tools.folder, f"{source.path.stem}.o")
        named, path = rules.named(command, source.path, None)
        code = compile_source(source, out, how._replace(command=named), tools)
        if code:
            return code
        _say(path, command, tools)
        objects.append(out)
        tools.names[str(out)] = str(source.path)
    modules = [item.path for item in command.of_kind("kernels")]
    words = command.linking(objects)
    is_quiet = how.compiles_fortran if command.fortran else how.release
    words += [*([OPENMP] if how.links_openmp else []), *([QUIET] if is_quiet else [])]
    device = DeviceOptions(options.libraries, (), command.level, options.keeps_ptx, command.ptxas)
    chosen = LinkOptions(
        "",
        device,
        options.warn,
        lambda: options.runtime,
        lambda: options.runtime.parent,
        options.force,
        options.sets_rpath,
    )
    if not modules:
        return link(_with_runtime(words, options), chosen, tools)
    images = _images(modules, how, options, tools)
    machine = written(machine_of_link(host_command.parse(words)))
    words.append(str(kernels.wrapper(images, options.entries, machine, tools)))
    host = _with_runtime(words, options)
    expect_runtimes(host, machine.name)
    tools.options_at = len(command.driver)
    code = tools.pass_on(host.words)
    if not code and not tools.is_dry and str(host.output) != os.devnull:
        check(host.output, chosen)
    return code


def _with_runtime(words: Sequence[str], options: Options) -> host_command.HostCommand:
    """Return the link command with omptool's runtime added, --as-needed, if it names none."""
    host = host_command.parse(words)
    if host.names_runtime or host.is_relocatable or host.is_static:
        return host
    before = host.passed("--push-state", "--as-needed")
    behind = host.passed("--pop-state")
    compiler, rest = words[: host.options_at], words[host.options_at :]
    finding = host.finding(options.runtime.parent) if options.sets_rpath else ()
    named = (*before, str(options.runtime), *behind)
    return host_command.parse([*compiler, *finding, *rest, *named])


def _images(
    modules: Sequence[Path], how: Compiling, options: Options, tools: Tools
) -> list[ImageRequest]:
    library = options.libraries[0] if options.libraries else None
    level = how.command.level
    return kernels.images(modules, options.targets, level, library, options.warn, tools)
