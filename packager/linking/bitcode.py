"""Joins LLVM bitcode of one target to one device image (`-foffload-lto`, `--emit bc`).

LLVM runs in lowering's child process (DECISIONS 19). Clang's own device library is found by the
release that compiled the modules: code of one release aborts LLVM with the library of another.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from packager.errors import UsageError
from packager.files.temporary import temporary_folder
from packager.linking.bitcode_files import Release, library_parts, release_of
from packager.linking.device_runtime import Wanted, is_runtime, runtime_library
from packager.lowering.assembler import assemble
from packager.lowering.child import LIMITS, Limits
from packager.lowering.joining.child import run_join
from packager.lowering.joining.request import JoinAnswer, JoinRequest, Part
from packager.lowering.libdevice import libdevice
from packager.lowering.linker import link_code_object, link_shared
from packager.lowering.lower import Target
from packager.lowering.request import Answer, Emit
from packager.lowering.targets.families import family_of
from packager.lowering.targets.family import Family
from packager.model import NO_ARCH, ImageKind

_TARGET_ID = re.compile(r"(gfx\w+)((?::\w+[+-])*)")  # AMDGPUUsage, "Target ID"
_NO_LIBDEVICE = "NVIDIA's libdevice.10.bc, which is not on this machine; give it by --device-lib"
_NO_ROCM = "ROCm's device libraries (ocml.bc, ockl.bc, …); give them by --device-lib"


@dataclass(frozen=True)
class BitcodeInput:
    """A module in a file of its own, and what messages call it: "a.o", "libx.a(m.o)"."""

    path: Path
    name: str


@dataclass(frozen=True)
class Joined:
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
    kept: Collection[str] = (),
    search: Sequence[Path] = (),
    limits: Limits = LIMITS,
) -> Joined:
    """Join `modules`, with what they need of `libraries`, to the image `out`.

    Kernels, variables that a host can name and what runtimes look for stay visible, and `kept`:
    what other objects of the target use. A library is bitcode, IR text, or an archive or
    OffloadBinary of such; it is linked if it defines what is undefined. `search` is where the
    device library of clang's release is looked for first: the host link's -L folders.

    `emit` is as in lower: "image" is PTX for nvptx64 and "obj" a cubin, by ptxas; for a CPU "image"
    is a shared object, and "obj" leaves the link to the caller.

    Raises SourceError or FormatError when a module is at fault, UsageError for an impossible
    request or what nothing defines, MissingToolError for what this machine lacks.
    """
    family = family_of(target.triple)
    cpu, features = _processor(target, family)
    with temporary_folder() as directory:
        request = JoinRequest(
            modules=tuple(Part(str(m.path.absolute()), m.name) for m in modules),
            output=str(directory / "joined.o"),
            triple=family.triple,
            cpu=cpu,
            features=features,
            level=target.level,
            emit=emit,
            kept=tuple(kept),
        )
        named = [library for library in libraries if not is_runtime(library)]
        parts = [p for file in named for p in library_parts(file, family.triple, cpu, directory)]
        folders = [*(file.parent for file in libraries if is_runtime(file)), *search]
        request = _with_own_libraries(replace(request, libraries=tuple(parts)), family, folders)
        answer = run_join(request, directory, limits)
        return _finished(request, answer, family, out, directory)


def _processor(target: Target, family: Family) -> tuple[str, str]:
    """Processor and features, as LLVM names them: "gfx90a:xnack+" has both in one."""
    cpu = "" if target.cpu in NO_ARCH else target.cpu
    found = _TARGET_ID.fullmatch(cpu)
    if found and family.linker == "code object":
        settings = (f"{word[-1]}{word[:-1]}" for word in found[2].split(":") if word)
        return found[1], ",".join(filter(None, [target.features, *settings]))
    if family.spaces is not None and not cpu:
        raise UsageError(f"device code for {family.triple} needs the name of a processor")
    return cpu, target.features


def _with_own_libraries(
    request: JoinRequest, family: Family, folders: Sequence[Path]
) -> JoinRequest:
    """The request with the libraries that come with compilers, or why they are not there."""
    if family.spaces is None:
        return request
    absent: list[tuple[str, str]] = []
    found = list(request.libraries)
    runtime = _runtime(request, folders)
    if isinstance(runtime, str):
        absent += [(start, runtime) for start in ("__kmpc_", "omp_", "__omp_", "__tgt_")]
    else:
        directory = Path(request.output).parent
        found += library_parts(runtime, request.triple, request.cpu, directory)
    if family.uses_libdevice:
        file = libdevice()
        found += [Part(str(file), file.name)] if file else []
        absent += [] if file else [("__nv_", _NO_LIBDEVICE)]
    else:
        absent += [(start, _NO_ROCM) for start in ("__ocml_", "__ockl_", "__oclc_")]
    return replace(request, libraries=tuple(found), absent=tuple(absent))


def _runtime(request: JoinRequest, folders: Sequence[Path]) -> Path | str:
    """The device library of the clang that compiled all modules, or why there is none."""
    releases: dict[Release, str] = {}
    for part in request.modules:
        releases.setdefault(release_of(Path(part.path)), part.name)
    known = [release for release in releases if release]
    if not known:
        return "it does not say which release of clang compiled it, and so needs --device-lib"
    if len(known) > 1:
        both = " and ".join(f"{releases[release]} by clang {release}" for release in known[:2])
        return f"no device library suits both: {both}"
    return runtime_library(Wanted(known[0], request.triple, request.cpu), folders)


def _finished(
    request: JoinRequest, answer: JoinAnswer, family: Family, out: Path, directory: Path
) -> Joined:
    made, notes = Path(request.output), answer.notes
    image = directory / "image"
    kind = _kind(request.emit, family)
    if request.emit == "image" and family.linker == "shared":
        exported = Answer(exports=answer.exports, calls_process=True)
        notes += link_shared(made, image, exported, family.arch)
        made = image
    elif request.emit == "image" and family.linker == "code object":
        link_code_object(made, image)
        made = image
    elif request.emit == "obj" and family.is_text:
        assemble(made, image, request.cpu)
        made = image
    shutil.copyfile(made, out)
    return Joined(out, kind, request.cpu, answer.exports, answer.libraries, tuple(notes))


def _kind(emit: Emit, family: Family) -> ImageKind:
    if emit == "bc":
        return "bitcode"
    if family.is_text:
        return "cubin" if emit == "obj" else "ptx"
    if emit == "asm":
        return "unknown"
    return "amdgcn" if family.linker == "code object" else "elf"
