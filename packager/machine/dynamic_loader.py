# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Find the libraries that the dynamic loader would pick for a program (ld.so(8)).

The loader takes LD_PRELOAD first. For DT_NEEDED it searches in this order: DT_RPATH of the file
and of its loaders, unless the file has DT_RUNPATH; LD_LIBRARY_PATH; DT_RUNPATH; the cache of
ldconfig; the default folders. It does not search again for a name that is loaded already.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from packager.elf import headers
from packager.elf.headers import DT_NEEDED, DT_RELR, DT_RPATH, DT_RUNPATH, DT_SONAME, DT_VERNEED
from packager.elf.imports import Dynamic
from packager.errors import FormatError
from packager.files.reader import open_reader
from packager.processes.programs import tool_environment, which
from packager.records import NamedTuple

# Version that a file with DT_RELR must require; lld up to 14 and mold up to 1.10 omit it.
RELR_VERSION = b"\0GLIBC_ABI_DT_RELR\0"
RELR_REFUSED = "its linker packed relocations (DT_RELR) without asking for GLIBC_ABI_DT_RELR"
DEFAULT_FOLDERS = ("/lib", "/usr/lib")
MULTIARCH = {"x86_64": "x86_64-linux-gnu", "aarch64": "aarch64-linux-gnu"}
SYSTEM = tuple(f"{folder}/" for folder in DEFAULT_FOLDERS)
MAX_LIBRARIES = 4096
_CACHE = Path("/etc/ld.so.cache")


class Library(NamedTuple):
    """A library that a program needs, directly or through others."""

    name: str  # name as required
    wanted_by: str  # the path of the file that asks first
    path: Path | None  # None: not found
    searched: tuple[str, ...] = ()  # the folders of search paths, if it was not found
    soname: str | None = None  # DT_SONAME, if found
    needed: tuple[str, ...] = ()  # DT_NEEDED

    @property
    def lack(self) -> str:
        """Return a sentence that names the users of a missing library; "" if it was found."""
        return "" if self.path else f"{self.name}, which {self.wanted_by} needs, is not found"


class _File(NamedTuple):
    path: Path
    machine: str
    needed: tuple[str, ...]
    rpath: tuple[str, ...]
    runpath: tuple[str, ...]
    soname: str | None
    inherited: tuple[str, ...] = ()  # DT_RPATH of what loaded it
    is_program: bool = False


def libraries(
    program: Path,
    elf: headers.Elf,
    environment: Mapping[str, str],
    preloaded: Sequence[Path] = (),
    *,
    is_secure: bool = False,
) -> list[Library]:
    """Return all libraries that `program` needs, in the order of loading; `elf` are its headers.

    `is_secure`: the program has raised rights, so the loader accepts $ORIGIN only in system
    folders. Raises FormatError if the program itself cannot be read.
    """
    first = _of_elf(program, elf)._replace(is_program=True)
    return list(_load(first, environment, preloaded, is_secure=is_secure))


def beside(program: Path, elf: headers.Elf) -> list[Path]:
    """Return the libraries that `program` needs and finds in folders of its own run path.

    This is quicker than `libraries`. Raises FormatError when the program cannot be read.
    """
    file = _of_elf(program, elf)._replace(is_program=True)
    folders = _expanded(file, (*file.rpath, *file.runpath))
    places = ((Path(folder) / name for folder in folders) for name in file.needed)
    found = (next(filter(None, (_fitting(p, file.machine) for p in one)), None) for one in places)
    return [library.path for library in found if library]


def lack_of(
    needed: Sequence[str],
    search: Sequence[str],
    loaded: Sequence[Library],
    environment: Mapping[str, str],
) -> str:
    """Return a sentence about the first library that dlopen would not find; "" if it finds all.

    The code needs the libraries `needed` and has the folders `search` (DT_RUNPATH). The process
    already has the libraries `loaded`.
    """
    machine = os.uname().machine
    code = _File(Path("it"), machine, tuple(needed), (), tuple(search), None)
    known = {name for lib in loaded if lib.path for name in (lib.name, lib.soname or lib.name)}
    return next((lib.lack for lib in _load(code, environment, (), known) if lib.lack), "")


def refusal(program: headers.Elf) -> str:
    """Return why glibc (2.36 and later) refuses a program with all its libraries, or "".

    Raises FormatError if the program cannot be read.
    """
    dynamic = Dynamic(program)
    if DT_RELR not in dynamic or DT_VERNEED not in dynamic:
        return ""
    strings = dynamic.strings()
    return RELR_REFUSED if strings and RELR_VERSION not in strings else ""


def _load(
    program: _File,
    environment: Mapping[str, str],
    preloaded: Sequence[Path],
    loaded: Collection[str] = (),
    *,
    is_secure: bool = False,
) -> Iterator[Library]:
    folders = _folders(environment)
    cache = _cache(program.machine)
    known = set(loaded)
    for path in preloaded:
        known |= {path.name, _read(path).soname or path.name}
    waiting = deque([program])
    for name in re.split(r"[ :]", environment.get("LD_PRELOAD", "")):
        first = _find(name, folders, cache, program.machine) if name else None
        own = (first.soname or first.path.name) if first else ""
        if first and own not in known:  # the loader reports missing preloads and continues
            known.add(own)
            yield _found(own, "LD_PRELOAD", first)
            waiting.append(first)
    while waiting:
        file = waiting.popleft()
        for name in file.needed:
            if name in known or len(known) >= MAX_LIBRARIES:
                continue
            known.add(name)
            inherited = _expanded(file, file.inherited, is_secure=is_secure)
            runpath = _expanded(file, file.runpath, is_secure=is_secure)
            searched = (*inherited, *folders, *runpath)
            found = _find(name, searched, cache, program.machine)
            wanted_by = str(file.path)
            yield (
                _found(name, wanted_by, found)
                if found
                else Library(name, wanted_by, None, searched)
            )
            if found:
                known.add(found.soname or name)
                passed_on = () if found.runpath else (*found.rpath, *file.inherited)
                waiting.append(found._replace(inherited=passed_on))


def _found(name: str, wanted_by: str, file: _File) -> Library:
    return Library(name, wanted_by, file.path, (), file.soname, file.needed)


def _folders(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the folders of LD_LIBRARY_PATH; an empty name is the working directory."""
    path = environment.get("LD_LIBRARY_PATH", "")
    return tuple(folder or "." for folder in re.split("[:;]", path)) if path else ()


def _expanded(file: _File, paths: Sequence[str], *, is_secure: bool = False) -> tuple[str, ...]:
    """Return paths with $ORIGIN replaced by the folder of the file.

    A program's folder has symlinks resolved, as the kernel passes it; a library's has not.
    """
    path = file.path.resolve() if file.is_program else file.path.absolute()
    origin = str(path.parent)
    filled = [(p, p.replace("${ORIGIN}", origin).replace("$ORIGIN", origin)) for p in paths if p]
    if is_secure and file.is_program:
        filled = [(p, f) for p, f in filled if p == f or os.path.normpath(f).startswith(SYSTEM)]
    return tuple(expanded for _, expanded in filled)


def _find(
    name: str, folders: Sequence[str], cache: Mapping[str, Path], machine: str
) -> _File | None:
    if "/" in name:
        return _fitting(Path(name), machine)
    defaults = [f"{folder}/{MULTIARCH.get(machine, '')}" for folder in DEFAULT_FOLDERS]
    places = [Path(folder) / name for folder in folders]
    places += [cache[name]] if name in cache else []
    places += [Path(folder) / name for folder in (*defaults, *DEFAULT_FOLDERS)]
    return next((file for place in places if (file := _fitting(place, machine))), None)


def _fitting(path: Path, machine: str) -> _File | None:
    """Return the file if the dynamic loader accepts it, else None: the loader skips such files."""
    try:
        file = _read(path) if path.is_file() else None
    except (FormatError, OSError):  # OSError: a name too long for any file
        return None
    if file is None:
        return None
    return file if file.machine == machine else None


def _read(path: Path) -> _File:
    with open_reader(path) as data:
        return _of_elf(path, headers.read(data))


def _of_elf(path: Path, file: headers.Elf) -> _File:
    """Read a library by its segments alone, like the loader."""
    dynamic = Dynamic(file)
    runpath = tuple(p for path_ in dynamic.texts(DT_RUNPATH) for p in path_.split(":"))
    rpath = tuple(p for path_ in dynamic.texts(DT_RPATH) for p in path_.split(":"))
    own = () if runpath else rpath
    soname = next(iter(dynamic.texts(DT_SONAME)), None)
    return _File(path, file.machine, dynamic.texts(DT_NEEDED), own, runpath, soname, own)


def _cache(machine: str) -> Mapping[str, Path]:
    """Return the libraries in ldconfig's cache; none if there is no cache."""
    return _cached(machine, _CACHE.stat().st_mtime_ns if _CACHE.exists() else 0)


@lru_cache
def _cached(machine: str, changed: int) -> Mapping[str, Path]:
    """Return the libraries in the cache of modification time `changed`; runs ldconfig once."""
    found: dict[str, Path] = {}
    for line in _ldconfig().splitlines():
        name, arrow, path = line.strip().partition(" => ")
        if arrow and "libc6" in name and (machine != "x86_64" or "x86-64" in name):
            found.setdefault(name.split(" ", 1)[0], Path(path))
    return found


def _ldconfig() -> str:
    for command in filter(None, (which("ldconfig"), "/sbin/ldconfig", "/usr/sbin/ldconfig")):
        try:
            import subprocess  # slow to load

            done = subprocess.run(
                [command, "-p"],
                capture_output=True,
                text=True,
                check=False,
                env=tool_environment(LC_ALL="C"),
            )
        except OSError:
            continue
        if done.returncode == 0:
            return done.stdout
    return ""


def find_library(
    name: str, environment: Mapping[str, str], caller: Path | None = None
) -> Path | None:
    """Return the file that dlopen would open for a library name; None if it would fail.

    `caller` is the library that calls dlopen. Raises FormatError if `caller` cannot be read.
    """
    machine = os.uname().machine
    opener = _read(caller) if caller else None
    own = _expanded(opener, opener.runpath) if opener else ()
    found = _find(name, (*_folders(environment), *own), _cache(machine), machine)
    return found.path if found else None
