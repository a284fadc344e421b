# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Clang's own library for code on GPUs: the one of the release that compiled the code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from packager.errors import FormatError, UsageError
from packager.files.reader import open_reader
from packager.formats.device_images.bitcode import module as bitcode
from packager.formats.device_images.bitcode.bitstream import Release
from packager.generations import is_newer, of_release
from packager.linking.bitcode_files import library_parts, release_of, suits
from packager.linking.host_command import DEVICE_LIBRARIES
from packager.lowering import joining
from packager.lowering.joining.request import Device, JoinRequest, Part
from packager.lowering.libdevice import libdevice
from packager.lowering.targets import Family
from packager.processes.programs import which
from packager.records import NamedTuple

# Similar releases differ only in the functions of this file, for kernels and libraries.
_FILE = Path(joining.__file__).parent / "parallel_60.ll"
_PARALLEL_60 = Part(str(_FILE), _FILE.name)
_FIRST_OF_ONE_NAME, _FIRST_FOR_ALL = 15, 21
_ENTRY_POINT = "__kmpc_target_init"  # clang's library defines it, and kernels call it
_OF_RUNTIME = ("__kmpc_", "omp_", "__omp_", "__tgt_")
_OF_LIBDEVICE, _OF_ROCM = "__nv_", ("__ocml_", "__ockl_", "__oclc_")
_NO_LIBDEVICE = "NVIDIA's libdevice.10.bc, which is not on this machine; give it by --device-lib"
_NO_ROCM = "ROCm's device libraries (ocml.bc, ockl.bc, …); give them by --device-lib"
_USUAL = ("/usr/lib/llvm-{}/lib", "/usr/lib/llvm/{}/lib64", "/usr/lib64/llvm{}/lib64")
_SYSTEM = ("/usr/lib64", "/usr/lib", "/usr/local/lib")
_GPUS = {"nvptx64": "nvptx", "amdgcn": "amdgpu"}


class OwnLibraries(NamedTuple):
    """Libraries that come with compilers, and why others are not there."""

    parts: tuple[Part, ...]
    # Prefixes of symbols whose library is missing, each with a sentence that names the library.
    absent: tuple[tuple[str, str], ...] = ()
    notes: tuple[tuple[str, str], ...] = ()  # a part's name, and a note if it is used


class _Wanted(NamedTuple):
    """The release of clang and the device that the library has to fit."""

    release: Release
    device: Device


class _NoneError(Exception):
    """There is no library; the message has the reason."""


def own_libraries(
    request: JoinRequest, family: Family, named: Sequence[Part], folders: Sequence[Path]
) -> OwnLibraries:
    """Return the compilers' own device libraries that modules for a GPU may need.

    Clang's is one of `named`, the user's libraries, or is searched for in `folders` first.
    """
    if family.spaces is None:
        return OwnLibraries(())
    directory = Path(request.output).parent
    own = _of_user(named, request.modules) or _runtime(request, folders, directory)
    libdevices: tuple[Part, ...] = ()
    absent = tuple((start, _NO_ROCM) for start in _OF_ROCM)
    if family.uses_libdevice:
        file = libdevice()
        libdevices = (Part(str(file), str(file), _OF_LIBDEVICE),) if file else ()
        absent = ((_OF_LIBDEVICE, _NO_LIBDEVICE),)
    parts = tuple(replace(part, is_own=True) for part in (*own.parts, *libdevices))
    return OwnLibraries(parts, own.absent + absent, own.notes)


def _runtime(request: JoinRequest, folders: Sequence[Path], directory: Path) -> OwnLibraries:
    """Return the device library of the clang that compiled all modules."""
    why = ""
    try:
        wanted = _Wanted(_release(request.modules), request.device)
        parts = _library(wanted, folders, directory)
        if parts:
            return OwnLibraries(parts)
        why = _missing(wanted, folders)
        for older in _alike(int(wanted.release)):
            if parts := _library(wanted._replace(release=str(older)), folders, directory):
                note = (
                    f"no device library of clang {wanted.release} is here: {parts[0].name}, of "
                    f"clang {older}, takes its place"
                )
                parts += (_PARALLEL_60,)
                return OwnLibraries(parts, _of_runtime(why), ((parts[0].name, note),))
    except _NoneError as error:
        why = str(error)
    return OwnLibraries((), _of_runtime(why))


def _of_user(named: Sequence[Part], modules: Sequence[Part]) -> OwnLibraries | None:
    """Return clang's device library that the user names; None if none is named.

    Raises UsageError if it has other records than the kernels of a module.
    """
    libraries = [part for part in named if _is_clangs(part)]
    for library in libraries:
        own = release_of(Path(library.path))
        for module in modules:
            release = release_of(Path(module.path))
            if own and release and not _fits(int(own), int(release)):
                raise UsageError(
                    f"{library.name} is clang {own}'s device library, and does not fit "
                    f"{module.name}, compiled by clang {release}: give clang {release}'s by "
                    "--device-lib"
                )
    if not libraries:
        return None
    names = ", ".join(library.name for library in libraries)
    return OwnLibraries((_PARALLEL_60,), _of_runtime(f"the given device library {names} lacks it"))


def _is_clangs(library: Part) -> bool:
    with open_reader(Path(library.path)) as data:
        try:
            return bitcode.probe(data) and _ENTRY_POINT in bitcode.linked_names(data)[1]
        except FormatError:
            return False  # LLVM says what is wrong with it


def _alike(release: int) -> list[int]:
    """Return older releases whose device libraries fit a release's kernels, latest first."""
    if not of_release(release).kernel_environment:
        return []
    return [older for older in range(release - 1, 0, -1) if _fits(older, release)]


def _fits(library: int, kernels: int) -> bool:
    """Return whether a release's library and another's kernels have the same records."""
    if library == kernels:
        return True
    row, other = of_release(library), of_release(kernels)
    is_alike = row.kernel_environment == other.kernel_environment
    is_alike = is_alike and row.launch_environment == other.launch_environment
    return is_alike and not (is_newer(library) or is_newer(kernels))


def _of_runtime(why: str) -> tuple[tuple[str, str], ...]:
    return tuple((start, why) for start in _OF_RUNTIME)


def _release(modules: Sequence[Part]) -> Release:
    releases: dict[Release, str] = {}
    for part in modules:
        releases.setdefault(release_of(Path(part.path)), part.name)
    known = [release for release in releases if release]
    if not known:
        why = "it does not name its release of clang: give that release's library by --device-lib"
        raise _NoneError(why)
    if len(known) > 1:
        both = " and ".join(f"{releases[release]} by clang {release}" for release in known[:2])
        raise _NoneError(f"no device library suits both {both}")
    return known[0]


def _library(wanted: _Wanted, folders: Sequence[Path], directory: Path) -> tuple[Part, ...]:
    """Return the modules of a release's library; none if it is not installed."""
    for folder in _folders(wanted, folders):
        for file in _files(folder, wanted):
            if release_of(file) == wanted.release:
                return (Part(str(file.absolute()), str(file)),)
        for archive in (folder / name for name in DEVICE_LIBRARIES):
            if archive.is_file():
                parts = _of_archive(archive, wanted, directory)
                if parts and release_of(Path(parts[0].path)) == wanted.release:
                    return parts
    return ()


def _of_archive(file: Path, wanted: _Wanted, directory: Path) -> tuple[Part, ...]:
    try:
        return tuple(library_parts(file, wanted.device, directory))
    except UsageError:  # the library is for other devices
        return ()


def _missing(wanted: _Wanted, folders: Sequence[Path]) -> str:
    where = ", ".join(map(str, _folders(wanted, folders)))
    release = int(wanted.release)
    first = min((release, *_alike(release)))
    others = f"those of clang {first - 1} and older do not fit; " if first == release else ""
    return (
        f"the device library of clang {wanted.release} for {wanted.device.triple} "
        f"{wanted.device.cpu} is not here: {' or '.join(_names(wanted))} is in none of {where}; "
        f"{others}give it by --device-lib"
    )


def _folders(wanted: _Wanted, folders: Sequence[Path]) -> list[Path]:
    compiler = which(f"clang-{wanted.release}")
    own = [Path(compiler).resolve().parents[1] / "lib"] if compiler else []
    usual = (Path(name.format(wanted.release)) for name in _USUAL)
    all_of_them = dict.fromkeys((*folders, *usual, *own, *map(Path, _SYSTEM)))
    # LLVM 22 and later use the second folder.
    both = (place for folder in all_of_them for place in (folder, folder / wanted.device.triple))
    return [folder for folder in both if folder.is_dir()]


def _names(wanted: _Wanted) -> tuple[str, ...]:
    release, start = int(wanted.release), _start(wanted)
    if release < _FIRST_OF_ONE_NAME:
        return (f"libomptarget-new-{start}-{wanted.device.cpu}.bc",)
    if release < _FIRST_FOR_ALL:
        return (f"libomptarget-{start}-{wanted.device.cpu}.bc", DEVICE_LIBRARIES[0])
    return (f"libomptarget-{start}.bc", DEVICE_LIBRARIES[1])


def _start(wanted: _Wanted) -> str:
    return _GPUS.get(wanted.device.triple.split("-")[0], "")


def _files(folder: Path, wanted: _Wanted) -> Iterator[Path]:
    """Yield files whose names may be the library's, closest processor first."""
    for start in (f"libomptarget-{_start(wanted)}-", f"libomptarget-new-{_start(wanted)}-"):
        ranked = [
            (rank, file)
            for file in folder.glob(f"{start}*.bc")
            if (rank := suits(file.stem.removeprefix(start), wanted.device.cpu))
        ]
        yield from (file for _, file in sorted(ranked, reverse=True))
    plain = folder / f"libomptarget-{_start(wanted)}.bc"
    if plain.is_file():
        yield plain
