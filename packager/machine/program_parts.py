# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Read a program and the libraries that the loader picks, for a prediction of its regions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from packager import checks
from packager.elf import headers, imports
from packager.errors import FormatError
from packager.files.reader import Reader, open_input
from packager.hosts import kpack_archives
from packager.hosts.load import Loaded, load_open
from packager.hosts.windows import coff
from packager.look import WHOLE
from packager.machine.dynamic_loader import Library, libraries
from packager.machine.facts import Diagnosis
from packager.machine.gcc_runtime import without
from packager.machine.host_regions import Left, of_libraries
from packager.machine.parts import Elsewhere, joined, looked_at
from packager.machine.program import raised_rights, secured
from packager.model import FatBinary, Finding, KernelArchives

# Functions by which programs choose a device, and by which they open libraries.
CHOOSING = ("omp_set_default_device", "omp_get_num_devices")
OPENING = ("dlopen", "dlmopen")
# Checks about other runtimes than omptool's, whose outcome doctor predicts itself.
OF_OTHER_RUNTIMES = ("OMP102", "OMP104", "OMP113", "OMP117")
REPORTED_ANYWAY = ("OMP131",)  # as OMP202


def open_program(path: Path, opened: ExitStack) -> Reader:
    """Open a program or library, to look for its regions for the host alone too."""
    return opened.enter_context(open_input(path, WHOLE._replace(host_only=True)))


class ProgramParts:
    """The program, and its libraries with regions that the loader picks.

    A file of debug information alone has only this content.
    """

    has_gcc = False  # whether parts for libgomp alone may be left out
    left: tuple[Left, ...] = ()
    images: Sequence[tuple[Reader, Path]] = ()
    archives: tuple[KernelArchives, ...] = ()
    chooses_device = False

    def __init__(
        self, program: Path, data: Reader, environment: Mapping[str, str], opened: ExitStack
    ) -> None:
        """Read the parts; `opened` closes their files. Raises FormatError for no program."""
        self._opened = opened
        self._members: list[Iterator[Loaded]] = []  # their bytes are readable until the next member
        self.environment = environment
        main = self._read(program, data)
        _check_is_program(main, program)
        read: list[Loaded] = []
        self.elsewhere: list[Elsewhere] = []
        self.findings: list[Finding] = []
        self.whole = joined(main.binary, [])
        if main.binary.is_debug_only:
            return
        rights = raised_rights(program)
        if rights:
            self.environment = secured(environment)
        self.elf = headers.read(main.file)
        needed = libraries(program, self.elf, self.environment, is_secure=bool(rights))
        for library in reversed(needed):
            offload = looked_at(library)
            if offload and library.path and offload.is_openmp:
                read += self._read_library(library.path)
            elif offload and library.path:
                self.elsewhere.append(Elsewhere(library.path, tuple(sorted(offload.others))))
        self.findings += _errors([*read, main])
        if any(not _is_of_gcc(one.binary) for one in (*read, main)):
            self.has_gcc = True
            *read, main = (_without_gcc(one) for one in (*read, main))
        self.whole = joined(main.binary, [one.binary for one in read])
        elsewhere = kpack_archives.of_libraries(one.path for one in self.elsewhere)
        self.archives = (*self.whole.binary.archives, *elsewhere)
        self.chooses_device = _import(CHOOSING, *read, main)
        self.findings += _opening(main)
        self.left = self._left(main, read, needed)
        self.findings += _causes(main, self.left, is_empty=self.whole.binary.is_empty)
        self.images = [image for one in (*read, main) for image in _images(one)]

    def _left(
        self, main: Loaded, read: Sequence[Loaded], needed: Sequence[Library]
    ) -> tuple[Left, ...]:
        """Return the files that show regions for the host alone, the program first."""
        seen = [(one.binary.path, one.binary.host_only) for one in (main, *read)]
        paths = {path for path, _ in seen}
        others = of_libraries(one for one in needed if str(one.path) not in paths)
        return (*(Left(path, cause) for path, cause in seen if cause and cause.is_shown), *others)

    def _read_library(self, path: Path) -> Iterator[Loaded]:
        """Yield the library; report parts that cannot be read as findings."""
        try:
            loaded = self._read(path, open_program(path, self._opened))
        except FormatError as error:
            faults: tuple[str, ...] = (str(error),)
        else:
            yield loaded
            faults = (*loaded.binary.faults, *loaded.binary.limits)
        for fault in faults:
            hint = "look at it with `omptool verify`"
            self.findings.append(Finding("OMP210", "warning", f"{path}: {fault}", hint))

    def _read(self, path: Path, data: Reader) -> Loaded:
        self._members.append(load_open(path, data))
        return next(self._members[-1])


def _images(part: Loaded) -> list[tuple[Reader, Path]]:
    """Return the bytes of a part's images, and the file that they are in."""
    return [(data, Path(part.binary.file or part.binary.path)) for data in part.data]


def _check_is_program(main: Loaded, program: Path) -> None:
    """Raise FormatError unless the file itself is a program that could be read whole."""
    binary = main.binary
    if coff.probe(main.file):
        raise FormatError("is a PE or COFF file of Windows; doctor reads programs of Linux")
    is_program = binary.type in ("executable", "shared")
    if not is_program or binary.path != str(program):  # a member of an archive
        raise FormatError("is not a program; doctor reads executables and libraries")
    for unread in (*binary.faults, *binary.limits):
        raise FormatError(unread)


def weighed_by(diagnosis: Diagnosis, finding: Finding) -> Finding:
    """Return the finding, as a warning if no device loads its image."""
    image = next((one for one in diagnosis.images if one.image.index == finding.image), None)
    is_elsewhere = finding.code in _checks() and image is not None and not image.devices
    return finding._replace(severity="warning") if is_elsewhere else finding


def _checks() -> tuple[str, ...]:
    """Return the codes of `verify` that hold under `omptool run`, too."""
    return tuple(
        code for code in checks.CHECKS if code not in (*OF_OTHER_RUNTIMES, *REPORTED_ANYWAY)
    )


def _is_of_gcc(binary: FatBinary) -> bool:
    """Return whether a file has parts for libgomp only, or none."""
    return binary.abi == "gcc" or not binary.has_parts


def _without_gcc(part: Loaded) -> Loaded:
    """Return the parts of a file for runtimes other than libgomp."""
    if not any(table.abi == "gcc" for table in part.binary.tables):
        return part
    binary = without(part.binary)
    return part._replace(binary=binary, data=part.data[: len(binary.images)])


def _errors(parts: Sequence[Loaded]) -> Iterator[Finding]:
    """Yield the errors of `verify`, with image numbers of the joined parts."""
    first = 0
    for number, part in enumerate(parts, 1):
        where = "" if number == len(parts) else f"{part.binary.path}: "
        for finding in checks.verify(part.binary, _checks()):
            if finding.severity == "error":
                image = None if finding.image is None else first + finding.image
                yield finding._replace(message=f"{where}{finding.message}", image=image, entry=None)
        first += len(part.binary.images)


def _import(names: tuple[str, ...], *parts: Loaded) -> bool:
    """Return whether one of the files imports a function with one of these names."""
    return any(part.elf is not None and imports.called(part.elf, names) for part in parts)


def _opening(main: Loaded) -> Iterator[Finding]:
    """Yield a hint where the program may open libraries, which no prediction sees."""
    if _import(OPENING, main):
        message = "the program may open libraries itself (dlopen), which this prediction lacks"
        yield Finding("OMP210", "info", message, "`omptool doctor --run` sees their regions")


def _causes(main: Loaded, left: Sequence[Left], *, is_empty: bool) -> Iterator[Finding]:
    """Yield which files have regions for the host alone, and why a program may have some."""
    own = main.binary.host_only
    if own and is_empty and not own.is_shown:
        yield Finding("OMP211", "info", own.message, own.cure)
    for path, cause in left:
        where = "" if path == main.binary.path else f"{path}: "
        yield Finding("OMP211", "warning", f"{where}{cause.message}", cause.cure)
