# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Read the dynamic segment by program headers, as the loader does; sections may be stripped."""

from __future__ import annotations

from packager.elf.headers import DT_STRSZ, DT_STRTAB, Elf
from packager.errors import FormatError


class Dynamic:
    """The dynamic segment of a file, and the strings that it names."""

    def __init__(self, elf: Elf) -> None:
        self._elf = elf
        self._values = elf.dynamic()

    def __contains__(self, tag: int) -> bool:
        return tag in self._values

    def texts(self, tag: int) -> tuple[str, ...]:
        """Return the strings of all dynamic entries with this tag, in order."""
        if tag not in self._values or DT_STRTAB not in self._values:
            return ()
        at = self._strings_at()
        return tuple(self._elf.data.string(at + n, "dynamic string") for n in self._values[tag])

    def strings(self) -> bytes:
        """Return the dynamic string table; b"" if its size is unknown."""
        if DT_STRTAB not in self._values or DT_STRSZ not in self._values:
            return b""
        size = self._values[DT_STRSZ][0]
        return self._elf.data.bytes(self._strings_at(), size, "dynamic strings")

    def _strings_at(self) -> int:
        address = self._values[DT_STRTAB][0]
        at = self._elf.offset(address, 1)
        if at is None:
            raise FormatError(f"dynamic string table at {address:#x} is in no segment")
        return at
