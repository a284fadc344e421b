# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Read the files of `dump` and `verify` one after the other, past unreadable ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from omptool.console import echo, portable, shown
from omptool.progress import progress
from packager.errors import PackagerError
from packager.hosts.load import Loaded, load_all
from packager.look import WHOLE, Look
from packager.model import FatBinary
from packager.records import NamedTuple

if TYPE_CHECKING:
    from packager.dwarf.sources import Asked
    from packager.files.reader import Reader
    from packager.questions.offered import Offered


class Unread(NamedTuple):
    """A file or member of an archive that was not read whole: its name, and the reason."""

    path: str
    message: str
    file: str

    def row(self) -> dict[str, str]:
        """Return the file and its error as a JSON object."""
        return {"path": portable(self.path), "message": self.message}


def _as_it_is(binary: FatBinary, _: Sequence[Reader]) -> FatBinary:
    return binary


class Files:
    """The files of a command line; `failed` once any was not read whole."""

    def __init__(
        self,
        paths: Sequence[Path],
        look: Look = WHOLE,
        *,
        checked: bool = False,
        sourced: Asked | None = None,
        offered: Offered | None = None,
        judged: Callable[[FatBinary, Sequence[Reader]], FatBinary] = _as_it_is,
    ) -> None:
        self.paths = paths
        self._look = look
        self._sourced = sourced  # debug information may be larger than all the rest of a file
        self._checked = checked  # faults are findings, of which the caller speaks
        self._offered = offered  # sees each file that is read
        self._judged = judged  # adds what others know of the images, whose bytes it gets
        self.errors: list[Unread] = []

    def some(self, paths: Sequence[Path]) -> Files:
        """Return a reader of some of the files, with errors of its own."""
        from copy import copy  # for many files only

        found = copy(self)
        found.paths, found.errors = paths, []
        return found

    @property
    def failed(self) -> bool:
        """Return whether the exit code must be 2."""
        return bool(self.errors)

    def __iter__(self) -> Iterator[FatBinary]:
        """Yield the files; print a line on stderr for each unreadable part."""
        for _, binaries in self.by_path():
            yield from binaries

    def by_path(self) -> Iterator[tuple[Path, Iterator[FatBinary]]]:
        """Yield each path with its binaries: an archive has one for each member."""
        return ((path, self._read(path)) for path in self.paths)

    def _read(self, path: Path) -> Iterator[FatBinary]:
        try:
            with progress(path) as bar:
                for loaded in load_all(path, self._look._replace(seen=bar.seen)):
                    binary = self._judged(self._with_sources(loaded), loaded.data)
                    bar.pause()
                    self._tell(binary)
                    yield binary
        except PackagerError as error:
            self._report(path, str(error))
        except OSError as error:
            self._report(path, error.strerror or str(error))

    def _with_sources(self, loaded: Loaded) -> FatBinary:
        if self._sourced is None:
            return loaded.binary
        from packager.dwarf.sources import with_sources

        return with_sources(loaded.binary, loaded.file, loaded.data, self._sourced)

    def _tell(self, binary: FatBinary) -> None:
        """Print the parts of a file that were not read."""
        if self._offered:
            self._offered.see(binary)
        faults = () if self._checked else binary.faults
        for trace in (*binary.unread, *faults, *binary.limits):
            self._report(binary.path, trace, binary.file)

    def _report(self, path: Path | str, message: str, file: str | None = None) -> None:
        self.errors.append(Unread(str(path), message, file or str(path)))
        echo(f"Error: {shown(path)}: {message}", err=True)
