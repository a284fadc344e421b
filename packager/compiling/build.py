# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The three steps in one: compile for the host and each device, link devices, link the host."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from packager.compiling import rules
from packager.compiling.command import MADE, CompileCommand
from packager.compiling.compilers import clangs_release
from packager.compiling.fortran import flangs_release
from packager.compiling.options import Options
from packager.compiling.sources import Compiling, compile_elsewhere, compile_source
from packager.compiling.spelling import expect_named
from packager.compiling.targets import Target, expect_able
from packager.errors import PackagerError, UsageError
from packager.files.temporary import unused
from packager.linking.tools import Tools


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
    from packager.compiling.linking import program  # slow to load, and unused with -c

    try:
        return program(how, heard, tools)
    except PackagerError as error:
        # Name the sources of objects in the temporary folder: users see only those.
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
        rules.say(path, command, tools)
        if modules:
            from packager.compiling.linking import add_kernels

            add_kernels(made, modules, out, how, options, tools)
    return 0
