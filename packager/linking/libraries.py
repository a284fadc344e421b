"""The files of a link: what the command names, what -l means, and what linker scripts stand for."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from packager.files.presence import exists
from packager.linking.host_command import Given, HostCommand, Library
from packager.linking.tools import Tools

DRIVERS_FOLDERS = "LIBRARY_PATH"
# What linkers of distributions search by themselves. Another linker fails without -L.
MULTIARCH = f"{platform.machine()}-linux-gnu"
ROOTS = ("/usr/local/lib", "/lib", "/usr/lib")
SYSTEMS = tuple(folder for root in ROOTS for folder in (f"{root}/{MULTIARCH}", f"{root}64", root))
# Libraries of compilers and of C have no code for devices: they are not searched for.
COMPILERS = {"c", "m", "pthread", "dl", "rt", "util", "gcc", "gcc_s", "gcc_eh", "stdc++", "c++",
    "atomic", "omp", "iomp5", "gomp", "omptarget", "gfortran", "quadmath"}  # fmt: skip
DRIVER = (
    r"(.+[-_])?(\w*cc|\w*c\+\+|g\+\+|clang(\+\+)?|gfortran|flang(-new)?|icp?x|ifx)([-.][\d.]+)?"
)
NOBODYS = {"c", "gcc", "gcc_s", "gcc_eh", "stdc++"}  # nor looked into: no user has one
ASKED = "-print-search-dirs"
ANSWER = "libraries: ="
MAX_SCRIPT = 1 << 16  # bytes of a script that stands for a library
COMMENT = r"/\*.*?\*/"
COMMAND = r"\b(?:INPUT|GROUP)\s*\(((?:[^()]|AS_NEEDED\s*\([^()]*\))*)\)"
WORD = r'"([^"\n]*)"|([^\s,()"]+)'


class LinkedFile(NamedTuple):
    """A file that is linked, and what of the command names it."""

    path: Path
    named: Given
    is_whole: bool  # of an archive: all members are linked


def linked(command: HostCommand, tools: Tools) -> list[LinkedFile]:
    """The files of a link that can be found, as linkers take them: libraries behind the rest."""
    places = _Places(command, tools)
    found = []
    for item in command.inputs:
        found.append(LinkedFile(item.path, item.given, item.is_whole))
    for one in command.libraries:
        path = places.of(one)
        if path is not None:
            found.append(LinkedFile(path, one.given, one.is_whole))
    return [one for file in found for one in (file, *places.by_script(file))]


class _Places:
    """The folders of libraries; those that a driver alone knows are asked for when needed."""

    def __init__(self, command: HostCommand, tools: Tools) -> None:
        self._command = command
        self._tools = tools
        self._folders = list(command.folders)
        if command.is_driver:
            names = os.environ.get(DRIVERS_FOLDERS, "").split(":")
            self._folders += [Path(name) for name in names if name]
        self._systems = [Path(command.sysroot + folder) for folder in SYSTEMS]
        self._drivers: list[Path] | None = None

    def of(self, library: Library) -> Path | None:
        """The file that -l means, as far as it can be known."""
        if library.name in NOBODYS:
            return None
        found = _searched(library, self._folders)
        if found or library.name in COMPILERS:
            return found
        return _searched(library, self._systems) or _searched(library, self._of_driver())

    def by_script(self, script: LinkedFile) -> Iterator[LinkedFile]:
        """The files that it names if it is a linker's script; no scripts in scripts."""
        path = script.path
        if path.suffix == ".o":
            return
        for name in _named(path):
            if name.startswith("-l"):
                found = self.of(Library(name[2:], 0, is_whole=False, is_static=False))
            else:
                places = (path.parent, Path(), *self._folders)
                found = next((place / name for place in places if exists(place / name)), None)
            if found is not None:
                yield script._replace(path=found)

    def _of_driver(self) -> list[Path]:
        if self._drivers is None:
            program = Path(self._command.words[self._command.options_at - 1]).name
            is_known = self._command.is_driver and re.fullmatch(DRIVER, program)
            asked = [*self._command.shared(), ASKED]
            answer = self._tools.answer(asked) if is_known else ""
            _, _, folders = answer.partition(ANSWER)
            self._drivers = [Path(name) for name in folders.partition("\n")[0].split(":") if name]
        return self._drivers


def _searched(library: Library, folders: Iterable[Path]) -> Path | None:
    name = library.name
    endings = (".a",) if library.is_static else (".so", ".a")
    wanted = [name[1:]] if name.startswith(":") else [f"lib{name}{ending}" for ending in endings]
    paths = (folder / file for folder in folders for file in wanted)
    return next((path for path in paths if exists(path)), None)


def _named(path: Path) -> Iterator[str]:
    """The files and -l words that the script at `path` names; nothing for what is no script."""
    try:
        if path.stat().st_size > MAX_SCRIPT:
            return
        data = path.read_bytes()
    except OSError:
        return  # the linker says what is wrong with it
    if b"\0" in data:
        return
    text = re.sub(COMMENT, " ", data.decode(errors="surrogateescape"), flags=re.DOTALL)
    for command in re.finditer(COMMAND, text):
        for quoted, plain in re.findall(WORD, command[1]):
            if quoted or plain != "AS_NEEDED":
                yield quoted or plain
