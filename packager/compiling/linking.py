# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finish a build: add kernels to an object, or link objects and kernels to a program."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from packager.compiling import kernels, rules
from packager.compiling.command import MADE
from packager.compiling.options import Options
from packager.compiling.sources import Compiling, compile_source
from packager.compiling.targets import OPENMP, QUIET
from packager.files.temporary import unused
from packager.host_machines import written
from packager.linking import host_command
from packager.linking.images import DeviceOptions
from packager.linking.libraries import machine_of_link
from packager.linking.link import Options as LinkOptions
from packager.linking.link import check, link
from packager.linking.machines import expect_runtimes
from packager.linking.tools import Tools
from packager.writers.requests import ImageRequest


def add_kernels(
    host: Path, modules: Sequence[Path], out: Path, how: Compiling, options: Options, tools: Tools
) -> None:
    """Write `host` to `out` with the images of kernels in LLVM IR."""
    wanted = _images(modules, how, options, tools)
    if tools.is_dry:
        return
    for finding in kernels.into(host, wanted, options.entries, out, force=options.force):
        if finding.severity == "warning":
            options.warn(f"{finding.code}: {finding.message}")


def program(how: Compiling, options: Options, tools: Tools) -> int:
    """Compile the sources and link a program; return the exit code of a failed step, or 0."""
    command = how.command
    objects = []
    for source in (item for item in command.inputs if item.kind in MADE):
        out = unused(tools.folder, f"{source.path.stem}.o")
        named, path = rules.named(command, source.path, None)
        code = compile_source(source, out, how._replace(command=named), tools)
        if code:
            return code
        rules.say(path, command, tools)
        objects.append(out)
        tools.names[str(out)] = str(source.path)
    modules = [item.path for item in command.of_kind("kernels")]
    words = command.linking(objects)
    is_quiet = how.compiles_fortran if command.fortran else how.release
    words += [*([OPENMP] if how.links_openmp else []), *([QUIET] if is_quiet else [])]
    device = DeviceOptions(
        *(options.libraries, (), command.level, options.keeps_ptx, command.ptxas, options.cache)
    )
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
    code = tools.link(host.words)
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
