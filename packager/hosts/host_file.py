# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Open a host file once for a command, and read its offload code on demand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from packager.elf import headers
from packager.errors import FormatError
from packager.files.reader import Reader, open_reader
from packager.hosts.load import Loaded, load_file
from packager.model import FatBinary


class HostFile:
    """An open host file; `binary` is read on demand."""

    def __init__(self, path: Path, data: Reader) -> None:
        self.path = path
        self.data = data

    @property
    def binary(self) -> FatBinary:
        """Return the file's offload code. Raises FormatError if it is malformed."""
        return self._loaded.binary

    @property
    def elf(self) -> headers.Elf | None:
        """Return the ELF headers, or None. Raises FormatError if they are malformed."""
        return self._loaded.elf

    @cached_property
    def _loaded(self) -> Loaded:
        return load_file(str(self.path), self.data)

    @property
    def is_linked(self) -> bool:
        """Return whether the file's header is that of an executable or shared library."""
        try:
            return headers.probe(self.data) and not headers.first(self.data).is_object
        except FormatError:
            return False  # whoever reads it says what is wrong with it


@contextmanager
def open_host(path: Path) -> Iterator[HostFile]:
    """Open the file at `path` until the end of the block.

    Raises FormatError if it is not a regular file or cannot be opened; the caller adds the path.
    """
    with open_reader(path) as data:
        yield HostFile(path, data)
