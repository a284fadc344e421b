"""Clang's own library for code on GPUs: the one of the release that compiled the code."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from packager.linking.bitcode_files import Release, release_of, suits

_ARCHIVES = ("libomptarget.devicertl.a", "libompdevice.a")
_USUAL = ("/usr/lib/llvm-{}/lib", "/usr/lib/llvm/{}/lib64", "/usr/lib64/llvm{}/lib64")
_SYSTEM = ("/usr/lib64", "/usr/lib", "/usr/local/lib")
_GPUS = {"nvptx64": "nvptx", "amdgcn": "amdgpu"}


class Wanted(NamedTuple):
    """What the library is for."""

    release: Release
    triple: str
    arch: str


def is_runtime(path: Path) -> bool:
    """Whether a file is clang's device library for all processors, as its link lines name it."""
    return path.name in _ARCHIVES


def runtime_library(wanted: Wanted, folders: Sequence[Path]) -> Path | str:
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


def _folders(wanted: Wanted, folders: Sequence[Path]) -> Iterator[Path]:
    compiler = shutil.which(f"clang-{wanted.release}")
    own = [Path(compiler).resolve().parents[1] / "lib"] if compiler else []
    usual = (Path(name.format(wanted.release)) for name in _USUAL)
    for folder in (*folders, *usual, *own, *map(Path, _SYSTEM)):
        yield folder
        yield folder / wanted.triple  # since LLVM 22


def _names(wanted: Wanted) -> tuple[str, ...]:
    gpu = _GPUS.get(wanted.triple.split("-")[0], "")
    if int(wanted.release) < 15:
        return (f"libomptarget-new-{gpu}-{wanted.arch}.bc",)
    if int(wanted.release) < 21:
        return (f"libomptarget-{gpu}-{wanted.arch}.bc", _ARCHIVES[0])
    return (f"libomptarget-{gpu}.bc", _ARCHIVES[1])


def _files(folder: Path, wanted: Wanted) -> Iterator[Path]:
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
