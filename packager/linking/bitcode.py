# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Joins LLVM bitcode of one target to one device image (`-foffload-lto`, `--emit bc`).

LLVM runs in lowering's child process (DECISIONS 19). Clang's own device library is found by the
release that compiled the modules: code of one release aborts LLVM with the library of another.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from packager.errors import MissingToolError, UsageError
from packager.files.temporary import temporary_folder
from packager.linking import spirv
from packager.linking.bitcode_files import library_parts, release_of
from packager.linking.device_runtime import OwnLibraries, own_libraries
from packager.linking.host_command import is_device_library
from packager.linking.image_cache import FACTS, ImageCache
from packager.linking.join_key import join_key
from packager.lowering.assembler import assemble
from packager.lowering.child import Child
from packager.lowering.joining.child import run_join, started
from packager.lowering.joining.request import Device, JoinAnswer, JoinRequest, Part, Undefined
from packager.lowering.linker import link_code_object, link_shared
from packager.lowering.lower import Target
from packager.lowering.request import Answer, Emit
from packager.lowering.targets import Family, family_of
from packager.model import NO_ARCH, ImageKind
from packager.records import NamedTuple
from packager.triples import is_spirv_of_openmp

_CPP = re.compile(r"_Z|__cxa_|__gxx_")  # what C++ needs of its library
_MOST_NAMED = 6  # of names in a message
_TARGET_ID = re.compile(r"(gfx\w+)((?::\w+[+-])*)")  # AMDGPUUsage, "Target ID"


class BitcodeInput(NamedTuple):
    """A module in a file of its own, and what messages call it: "a.o", "libx.a(m.o)"."""

    path: Path
    name: str


class Joined(NamedTuple):
    """The image that became of the modules, and what the user should know, a line each."""

    path: Path
    kind: ImageKind
    arch: str
    exports: tuple[str, ...]  # symbols that others find in it
    libraries: tuple[str, ...]  # the device libraries that it needed
    notes: tuple[str, ...]


def join(
    modules: Sequence[BitcodeInput],
    target: Target,
    libraries: Sequence[Path],
    out: Path,
    *,
    emit: Emit = "image",
    kept: Collection[str] | None = None,
    search: Sequence[Path] = (),
    folder: Callable[[], Path] | None = None,
    child: Child | None = None,
    cache: ImageCache | None = None,
) -> Joined:
    """Join `modules`, with what they need of `libraries`, to the image `out`.

    Kernels, variables that a host can name and what runtimes look for stay visible, and `kept`:
    what other objects of the target use. None says that they are not known: an object for a CPU
    keeps all then. A library is bitcode, IR text, or an archive or
    OffloadBinary of such; it is linked if it defines what is undefined. `search` is where the
    device library of clang's release is looked for first: the host link's -L folders.

    `emit` is as in lower: "image" is PTX for nvptx64 and "obj" a cubin, by ptxas; for a CPU "image"
    is a shared object, and "obj" leaves the link to the caller. `folder` is that of omptool's own
    libraries, which clang's code for OpenCL devices needs. `child` is a worker that has been
    started (`joining.child.started`), to be used up. `cache` may have the image.

    Raises SourceError or FormatError when a module is at fault, UsageError for an impossible
    request or what nothing defines, MissingToolError for what this machine lacks.
    """
    is_openmp_spirv = is_spirv_of_openmp(target.triple)
    family = family_of(spirv.PORTABLE if is_openmp_spirv else target.triple)
    if not modules:
        raise UsageError(f"no module for {family.triple} is given")
    device = replace(_device(target, family), is_openmp_spirv=is_openmp_spirv)
    with ExitStack() as opened:
        directory = opened.enter_context(temporary_folder())
        # Without a cache LLVM is loaded while the request is prepared.
        worker = None if cache else opened.enter_context(child or started())
        request = JoinRequest(
            modules=tuple(
                Part(str(m.path.absolute()), m.name, release=release_of(m.path)) for m in modules
            ),
            output=str(directory / "joined.o"),
            device=device,
            level=target.level,
            emit=emit,
            kept=tuple(kept or ()),
            keeps_all=kept is None and emit == "obj" and device.is_cpu,
        )
        named = [library for library in libraries if not is_device_library(library)]
        parts = [p for file in named for p in library_parts(file, device, directory)]
        folders = [*(file.parent for file in libraries if is_device_library(file)), *search]
        if is_openmp_spirv:
            own = spirv.own_library(folder)
        else:
            own = own_libraries(request, family, parts, folders)
        request = replace(request, libraries=(*parts, *own.parts))
        key = join_key(request, own, target, family) if cache else None
        if cache and key and (facts := cache.take(key, out)):
            return _known(out, facts)
        worker = worker or opened.enter_context(child or started())
        answer = run_join(request, worker)
        said = tuple(note for name, note in own.notes if name in answer.libraries)
        if is_openmp_spirv:
            spirv.expect_complete(answer, family)
        _check_resolved(answer, own, family)
        arch = "" if target.cpu in NO_ARCH else target.cpu
        found = _finished(request, answer, family, emit, out, target._replace(cpu=arch))
        found = found._replace(notes=said + found.notes)
        if cache and key:
            cache.keep(key, out, {name: getattr(found, name) for name in FACTS})
        return found


def _known(out: Path, facts: dict[str, Any]) -> Joined:
    lists = (tuple(facts[name]) for name in ("exports", "libraries", "notes"))
    return Joined(out, facts["kind"], facts["arch"], *lists)


def _device(target: Target, family: Family) -> Device:
    cpu, features = "" if target.cpu in NO_ARCH else target.cpu, target.features
    found = _TARGET_ID.fullmatch(cpu)
    if found and family.linker == "code object":  # "gfx90a:xnack+" is LLVM's gfx90a and +xnack
        settings = (f"{word[-1]}{word[:-1]}" for word in found[2].split(":") if word)
        cpu, features = found[1], ",".join(filter(None, [features, *settings]))
    if family.spaces is not None and not cpu and family.triple != spirv.PORTABLE:
        raise UsageError(f"device code for {family.triple} needs the name of a processor")
    return Device(
        family.triple,
        family.llvm_triple or family.triple,
        cpu or family.default_cpu,
        features,
        is_text=family.is_text,
        is_cpu=family.spaces is None,
        vectorises=family.vectorises,
    )


def _check_resolved(answer: JoinAnswer, own: OwnLibraries, family: Family) -> None:
    if family.spaces is None:  # a linker will miss it, or the process that loads it has it
        return
    missing = [one for one in answer.undefined if not family.provides(one.name)]
    for start, why in own.absent:
        of_it = [one for one in missing if one.name.startswith(start)]
        if of_it:
            raise MissingToolError(f"{uses(of_it)}: {why}")
    if missing:
        raise UsageError(
            f"{uses(missing)}, which nothing defines for {family.triple}; give the library that "
            "does by --device-lib"
        )


def uses(missing: Sequence[Undefined]) -> str:
    users = dict.fromkeys(user for one in missing for user in one.users)
    more = f" and {len(missing) - _MOST_NAMED} more" if len(missing) > _MOST_NAMED else ""
    names = ", ".join(one.name for one in missing[:_MOST_NAMED])
    return f"{', '.join(users) or 'the joined device code'} uses {names}{more}"


def _finished(
    request: JoinRequest, answer: JoinAnswer, family: Family, emit: Emit, out: Path, target: Target
) -> Joined:
    made, notes = Path(request.output), answer.notes
    image = made.with_name("image")
    kind = _kind(emit, family)
    if emit == "image" and family.linker == "shared":
        exported = Answer(exports=answer.exports, calls_process=True)
        is_cpp = any(_CPP.match(one.name) for one in answer.undefined)
        libraries = ("-lstdc++",) if is_cpp else ()
        notes += link_shared(made, image, exported, family.arch, libraries=libraries)
        made = image
    elif emit == "image" and family.linker == "code object":
        link_code_object(made, image)
        made = image
    elif emit == "obj" and family.is_text:
        notes += assemble(made, image, request.device.cpu, target.ptxas)
        made = image
    shutil.copyfile(made, out)
    return Joined(out, kind, target.cpu, answer.exports, answer.libraries, tuple(notes))


def _kind(emit: Emit, family: Family) -> ImageKind:
    if emit == "bc":
        return "bitcode"
    if family.is_text:
        return "cubin" if emit == "obj" else "ptx"
    if emit == "asm":
        return "unknown"
    if family.triple == spirv.PORTABLE:
        return "spirv"
    return "amdgcn" if family.linker == "code object" else "elf"
