# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Collect the facts of this machine that `omptool doctor` needs for a program."""

from __future__ import annotations

import filecmp
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from omptool.installation import LIBRARY, libdir
from omptool.probes.amd_kfd import processors
from omptool.probes.ask import Answers, ImageBytes, ask_cuda, ask_plugins
from packager.elf.headers import Elf
from packager.errors import MissingToolError
from packager.files.temporary import temporary_folder
from packager.machine import gcc_runtime
from packager.machine.dynamic_loader import Library, find_library, lack_of, libraries, refusal
from packager.machine.facts import (
    FOLDERS,
    LEVEL_ZERO,
    NODES,
    OPENCL,
    Answer,
    Machine,
    Plugins,
    Tmp,
)
from packager.machine.program import LIBTARGET, raised_rights, secured
from packager.machine.runtimes import compilers, picked
from packager.model import FatBinary

TMP = Path("/tmp")  # LLVM's runtimes put images there, whatever TMPDIR says
CPUS = Path("/proc/cpuinfo")
FOR_CUDA = ("ptx", "cubin", "tileir")
NOT_FOUND = (
    "without the program's run path the loader does not find it, and it is no copy of omptool's"
)
PLUGIN_PREFIX = "libomptarget.rtl."


def probe(
    binary: FatBinary,
    program: Path,
    elf: Elf,
    images: Sequence[ImageBytes | None],
    environment: dict[str, str],
    asking: dict[str, str] | None = None,
) -> tuple[Machine, Plugins]:
    """Return facts of the machine for `program` (its headers are `elf`), and the plugins' rows.

    `asking` is the environment under `omptool run`, if that has more plugins. `images` has None for
    an image that another runtime than OpenMP's registers: no plugin is asked about it. Raises
    MissingToolError if the plugins cannot be asked, FormatError for a malformed program.
    """
    rights = raised_rights(program)
    whole, environment = environment, secured(environment) if rights else environment
    found = libraries(program, elf, environment, is_secure=bool(rights))
    drivers = {driver: find_library(driver, environment) for _, driver in NODES.values()}
    here = {node for node, _ in NODES.values() if Path(node).exists()}
    here |= {driver for driver, path in drivers.items() if path}
    models = {row.model for row in binary.registrations}
    if "sycl" in models:
        here |= {name for name in (LEVEL_ZERO, OPENCL) if find_library(name, environment)}
    has_cuda = any(image.kind in FOR_CUDA for image in binary.images)
    general = Machine(
        libraries=found,
        under_run=found,
        devices={},
        answers=[],
        environment=environment,
        files=frozenset(here),
        tmp=_tmp(),
        refusal=refusal(elf),
        rights=rights,
        ignored=tuple(sorted(name for name in whole if name not in environment)),
        clangs=compilers(elf),
        cuda=ask_cuda(drivers[gcc_runtime.NVPTX.driver], environment) if has_cuda else None,
        amd=processors(),
        processor=cpu_features(),
    )
    if binary.abi == "gcc":
        plugins_of_gcc = _libgomp_plugins(found, environment)
        return replace(general, libgomp_plugins=plugins_of_gcc), []
    has_names = all(table.has_names for table in binary.tables)
    asked = [image for image in images if image is not None]
    under_omptool = secured(asking) if asking and rights else asking or environment
    said = ask_plugins(asked, under_omptool, has_names=has_names)
    ours = [*sorted(libdir().glob(f"{LIBRARY}*")), libdir() / LIBTARGET]
    under_run = libraries(program, elf, environment, ours)
    there = [*under_run, *(Library(path.name, "", path) for path in ours)]
    bundled = replace(
        _with_answers(general, said, images),
        under_run=under_run,
        lacks=_lacks(binary, there, environment),
        lacks_alone=_lacks(binary, found, environment),
        runtime=picked(found, environment, binary.runtimes),
    )
    if bundled.runtime is None or bundled.runtime.release is not None:
        return bundled, said.plugins
    alone = replace(bundled, lacks=bundled.lacks_alone)
    path = bundled.runtime.path
    if path.samefile(libdir() / LIBRARY):
        return replace(bundled, alone=alone), said.plugins
    try:
        with _safe_runtime(path, environment) as runtime:
            own = ask_plugins(asked, environment, has_names=has_names, runtime=runtime)
        alone = _with_answers(alone, own, images)
    except MissingToolError as error:
        alone = replace(alone, unasked=str(error))
    return replace(bundled, alone=alone), said.plugins


@contextmanager
def _safe_runtime(path: Path, environment: dict[str, str]) -> Iterator[Path]:
    """Yield the runtime at `path`, or a copy of this installation with the same files.

    A program's own RUNPATH may lead to any library, which must not be executed. A wheel has a copy
    of the runtime. Raises MissingToolError for a library with other bytes.
    """
    if _is_users(path, environment):
        yield path
        return
    files = [path, *path.parent.glob(f"{PLUGIN_PREFIX}*.so")]
    if not all(_is_copy(file) for file in files):
        raise MissingToolError(f"doctor does not load {path}: {NOT_FOUND}")
    with temporary_folder() as folder:
        for file in files:
            shutil.copyfile(libdir() / file.name, folder / file.name)
        yield folder / path.name


def _is_copy(file: Path) -> bool:
    """Return whether this installation has a library with the same name and bytes."""
    original = libdir() / file.name
    return original.is_file() and filecmp.cmp(file, original, shallow=False)


def _is_users(runtime: Path, environment: dict[str, str]) -> bool:
    """Return whether the user's LD_LIBRARY_PATH, or this system, leads to a runtime.

    A program's own RUNPATH may lead to any library, and so may the current folder.
    """
    folders = environment.get("LD_LIBRARY_PATH", "").split(":")
    absolute = ":".join(folder for folder in folders if Path(folder).is_absolute())
    found = find_library(runtime.name, environment | {"LD_LIBRARY_PATH": absolute})
    return found is not None and found.samefile(runtime)


def _with_answers(machine: Machine, said: Answers, images: Sequence[ImageBytes | None]) -> Machine:
    """Return the machine as the plugins of a runtime describe it."""
    answers = iter(said.images)
    return replace(
        machine,
        devices={r["name"]: len(r["devices"]) for r in said.plugins if r["state"] == "ready"},
        deviceless={
            r["name"]: r["reason"].removeprefix("it has no devices").strip()
            for r in said.plugins
            if r["state"] == "no devices"
        },
        architectures={r["name"]: _architectures(r["devices"]) for r in said.plugins},
        answers=[[Answer(**row) for row in next(answers)] if i else [] for i in images],
        fatal_plugin=said.fatal,
        unread_folders={r["path"]: r["reason"] for r in said.plugins if r["name"] == FOLDERS},
    )


def _architectures(devices: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the architectures of devices, each once, in their order."""
    said = (device["architecture"] for device in devices)
    return tuple(dict.fromkeys(name for name in said if name))


def _lacks(binary: FatBinary, loaded: Sequence[Library], environment: dict[str, str]) -> list[str]:
    """Return the missing library of each image; "" if none is missing."""
    wanted = [
        (image.contents.links.needed, image.contents.links.search)
        if image.kind == "elf" and image.contents.machine == binary.machine
        else ((), ())
        for image in binary.images
    ]
    found = {one: lack_of(*one, loaded, environment) for one in set(wanted)}
    return [found[one] for one in wanted]


def cpu_features(file: Path = CPUS) -> frozenset[str]:
    """Return the features of this machine's CPU; none if Linux does not list them.

    Linux lists them after "flags" on x86-64, and after "Features" on AArch64.
    """
    try:
        lines = file.read_text().splitlines()
    except OSError:
        return frozenset()
    flags = (line.partition(":")[2] for line in lines if line.startswith(("flags", "Features")))
    return frozenset(next(flags, "").split())


def _tmp() -> Tmp:
    sizes = list(filter(None, map(_size, TMP.glob("tmpfile_*"))))
    left = Tmp("", len(sizes), sum(sizes))
    if not os.access(TMP, os.W_OK | os.X_OK):
        return left._replace(problem="cannot be written to")
    is_noexec = os.statvfs(TMP).f_flag & os.ST_NOEXEC
    return left._replace(problem="is mounted noexec" if is_noexec else "")


def _size(file: Path) -> int:
    """Return the size of a file; 0 if it does not exist."""
    try:
        return file.lstat().st_size
    except OSError:
        return 0


def _libgomp_plugins(found: Sequence[Library], environment: dict[str, str]) -> dict[str, Path]:
    """Return the plugins that libgomp would find, by their names for kinds of device."""
    caller = next((lib.path for lib in found if lib.name.startswith(gcc_runtime.LIBRARY)), None)
    places = ((kind, find_library(kind.plugin, environment, caller)) for kind in gcc_runtime.KINDS)
    return {kind.name: path for kind, path in places if path}
