# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Find the files of a link: inputs, files that -l refers to, and those in linker scripts."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from packager.elf import headers
from packager.errors import FormatError
from packager.files.portable import exists
from packager.files.reader import Reader, open_reader
from packager.files.sources import BLOCK
from packager.linking.host_command import Given, HostCommand, Library
from packager.linking.tools import Tools
from packager.look import Look
from packager.records import NamedTuple

DRIVERS_FOLDERS = "LIBRARY_PATH"
# Default folders of distributions' linkers. Another linker fails without -L.
ROOTS = ("/usr/local/lib", "/lib", "/usr/lib")
# Libraries of compilers and of C, which have no device code, are not searched for.
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
    """A file that is linked, with the word that names it."""

    path: Path
    named: Given
    is_whole: bool  # an archive whose members are all linked


def linked(command: HostCommand, tools: Tools, look: Look) -> Iterator[tuple[LinkedFile, Reader]]:
    """Yield the readable files of a link in the linker's order: libraries after all others.

    The bytes of each file can be read until the next one.
    """
    places = _Places(command, tools)
    for file in places.files():
        words: list[str] = []
        for data in _opened(file.path, look):
            yield file, data
            words += _named(file.path, data)
        for path in places.by_script(file.path, words):
            for data in _opened(path, look):
                yield file._replace(path=path), data


def _opened(path: Path, look: Look) -> Iterator[Reader]:
    """Yield the bytes of a file if it can be opened; else the linker reports the error."""
    with suppress(FormatError), open_reader(path, look) as data:
        yield data


def machine_of(path: Path) -> str | None:
    """Return the machine of an ELF file; None for any other or unreadable file."""
    with suppress(FormatError), open_reader(path) as data:
        if headers.probe(data):
            return headers.read(data).machine
    return None


def machine_of_link(command: HostCommand) -> str:
    """Return the machine of the link's first object; without objects, this machine."""
    machines = (machine_of(item.path) for item in command.inputs)
    return next(filter(None, machines), os.uname().machine)


def _systems(machine: str, sysroot: str) -> Iterator[str]:
    """Yield the folders of a machine's libraries; for a foreign one, its own or the sysroot's."""
    names = f"{machine}-linux-gnu"
    is_cross = machine != os.uname().machine and not sysroot
    for root in ROOTS:
        yield f"{sysroot}{root}/{names}"
        yield from () if is_cross else (f"{sysroot}{root}64", sysroot + root)
    if is_cross:
        yield f"/usr/{names}/lib"


class _Places:
    """The folders of libraries; the driver is asked for its own on demand."""

    def __init__(self, command: HostCommand, tools: Tools) -> None:
        self._command = command
        self._tools = tools
        self._folders = list(command.folders)
        if command.is_driver:
            names = os.environ.get(DRIVERS_FOLDERS, "").split(":")
            self._folders += [Path(name) for name in names if name]
        self._systems: list[Path] | None = None
        self._drivers: list[Path] | None = None

    def files(self) -> Iterator[LinkedFile]:
        """Yield the files that the command names."""
        for item in self._command.inputs:
            yield LinkedFile(item.path, item.given, item.is_whole)
        for one in self._command.libraries:
            path = self.of(one)
            if path is not None:
                yield LinkedFile(path, one.given, one.is_whole)

    def of(self, library: Library) -> Path | None:
        """Return the file that -l refers to, or None if unknown."""
        if library.name in NOBODYS:
            return None
        found = _searched(library, self._folders)
        if found or library.name in COMPILERS:
            return found
        return _searched(library, self._of_system()) or _searched(library, self._of_driver())

    def by_script(self, script: Path, names: Iterable[str]) -> Iterator[Path]:
        """Yield the files that `names` in a linker script refer to; no nested scripts."""
        for name in names:
            if name.startswith("-l"):
                found = self.of(Library(name[2:], 0, is_whole=False, is_static=False))
            else:
                places = (script.parent, Path(), *self._folders)
                found = next((place / name for place in places if exists(place / name)), None)
            if found is not None:
                yield found

    def _of_system(self) -> list[Path]:
        """Return the library folders of the first object's machine."""
        if self._systems is None:
            folders = _systems(machine_of_link(self._command), self._command.sysroot)
            self._systems = [Path(folder) for folder in folders]
        return self._systems

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


def _named(path: Path, data: Reader) -> Iterator[str]:
    """Yield the files and -l words in the linker script at `path`; none if it is no script."""
    if path.suffix == ".o" or len(data) > MAX_SCRIPT:
        return
    if b"\0" in data.bytes(0, min(BLOCK, len(data))) or b"\0" in (content := data.bytes()):
        return
    text = re.sub(COMMENT, " ", content.decode(errors="surrogateescape"), flags=re.DOTALL)
    for command in re.finditer(COMMAND, text):
        for quoted, plain in re.findall(WORD, command[1]):
            if quoted or plain != "AS_NEEDED":
                yield quoted or plain
