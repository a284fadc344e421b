"""Clang's own library for code on GPUs: the one of the release that compiled the code."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from packager.linking.bitcode_files import Release, library_parts, release_of, suits
from packager.lowering.joining.request import Device, JoinRequest, Part
from packager.lowering.libdevice import libdevice
from packager.lowering.targets.family import Family

_RUNTIMES_NAMES = ("__kmpc_", "omp_", "__omp_", "__tgt_")
_OF_LIBDEVICE, _OF_ROCM = "__nv_", ("__ocml_", "__ockl_", "__oclc_")
_NO_LIBDEVICE = "NVIDIA's libdevice.10.bc, which is not on this machine; give it by --device-lib"
_NO_ROCM = "ROCm's device libraries (ocml.bc, ockl.bc, …); give them by --device-lib"
_ARCHIVES = ("libomptarget.devicertl.a", "libompdevice.a")
_USUAL = ("/usr/lib/llvm-{}/lib", "/usr/lib/llvm/{}/lib64", "/usr/lib64/llvm{}/lib64")
_SYSTEM = ("/usr/lib64", "/usr/lib", "/usr/local/lib")
_GPUS = {"nvptx64": "nvptx", "amdgcn": "amdgpu"}


class OwnLibraries(NamedTuple):
    """Libraries that come with compilers, and why others are not there."""

    parts: tuple[Part, ...]
    # What is undefined and begins like the first is in a library that is not here: the second says
    # which.
    absent: tuple[tuple[str, str], ...] = ()


class _Wanted(NamedTuple):
    """What clang's library is for."""

    release: Release
    triple: str
    arch: str


def is_runtime(path: Path) -> bool:
    """Whether a file is clang's device library for all processors, as its link lines name it."""
    return path.name in _ARCHIVES


def own_libraries(request: JoinRequest, family: Family, folders: Sequence[Path]) -> OwnLibraries:
    """What modules for a GPU may need of the compilers that are here; clang's is looked for in
    `folders` first.
    """
    if family.spaces is None:
        return OwnLibraries(())
    device = request.device
    parts: list[Part] = []
    absent: list[tuple[str, str]] = []
    runtime = _runtime(request.modules, device, folders)
    if isinstance(runtime, str):
        absent += [(start, runtime) for start in _RUNTIMES_NAMES]
    else:
        parts += library_parts(runtime, device, Path(request.output).parent)
    if family.uses_libdevice:
        file = libdevice()
        parts += [Part(str(file), str(file), _OF_LIBDEVICE)] if file else []
        absent += [] if file else [(_OF_LIBDEVICE, _NO_LIBDEVICE)]
    else:
        absent += [(start, _NO_ROCM) for start in _OF_ROCM]
    return OwnLibraries(tuple(replace(part, is_own=True) for part in parts), tuple(absent))


def _runtime(modules: Sequence[Part], device: Device, folders: Sequence[Path]) -> Path | str:
    """The device library of the clang that compiled all modules, or why there is none."""
    releases: dict[Release, str] = {}
    for part in modules:
        releases.setdefault(release_of(Path(part.path)), part.name)
    known = [release for release in releases if release]
    if not known:
        return "it does not say which release of clang compiled it, and so needs --device-lib"
    if len(known) > 1:
        both = " and ".join(f"{releases[release]} by clang {release}" for release in known[:2])
        return f"no device library suits both {both}"
    return _library(_Wanted(known[0], device.triple, device.cpu), folders)


def _library(wanted: _Wanted, folders: Sequence[Path]) -> Path | str:
    """The library, or a sentence that says what is missing and where it was looked for."""
    seen: dict[Path, None] = {}
    for folder in _folders(wanted, folders):
        if folder in seen or not folder.is_dir():
            continue
        seen[folder] = None
        for file in _files(folder, wanted):
            if release_of(file) == wanted.release:
                return file
        for name in _ARCHIVES:
            if (folder / name).is_file() and f"-{wanted.release}/" in f"{folder}/":
                return folder / name
    return (
        f"the device library of clang {wanted.release} for {wanted.triple} {wanted.arch} is not "
        f"here: {' or '.join(_names(wanted))} is in none of {', '.join(map(str, seen))}; give it "
        "by --device-lib"
    )


def _folders(wanted: _Wanted, folders: Sequence[Path]) -> Iterator[Path]:
    compiler = shutil.which(f"clang-{wanted.release}")
    own = [Path(compiler).resolve().parents[1] / "lib"] if compiler else []
    usual = (Path(name.format(wanted.release)) for name in _USUAL)
    for folder in (*folders, *usual, *own, *map(Path, _SYSTEM)):
        yield folder
        yield folder / wanted.triple  # since LLVM 22


def _names(wanted: _Wanted) -> tuple[str, ...]:
    gpu = _GPUS.get(wanted.triple.split("-")[0], "")
    if int(wanted.release) < 15:
        return (f"libomptarget-new-{gpu}-{wanted.arch}.bc",)
    if int(wanted.release) < 21:
        return (f"libomptarget-{gpu}-{wanted.arch}.bc", _ARCHIVES[0])
    return (f"libomptarget-{gpu}.bc", _ARCHIVES[1])


def _files(folder: Path, wanted: _Wanted) -> Iterator[Path]:
    """The files of a name that may be it, that of the closest processor first."""
    gpu = _GPUS.get(wanted.triple.split("-")[0], "")
    for start in (f"libomptarget-{gpu}-", f"libomptarget-new-{gpu}-"):
        ranked = [
            (rank, file)
            for file in folder.glob(f"{start}*.bc")
            if (rank := suits(file.stem.removeprefix(start), wanted.arch))
        ]
        yield from (file for _, file in sorted(ranked, reverse=True))
    plain = folder / f"libomptarget-{gpu}.bc"
    if plain.is_file():
        yield plain
