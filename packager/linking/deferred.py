# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Members of archives that are parsed when the link needs them.

An archive may have hundreds of members with device code, of which a program links a few.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from packager.elf import headers
from packager.errors import FormatError
from packager.files.reader import Reader
from packager.formats.containers import offload_binary
from packager.hosts import members
from packager.hosts.members import Member

SECTION = ".llvm.offloading"
LARGEST = 1 << 16  # bytes of an image that is searched; of a larger one its tables are read
DEVICE_CODE = f"\0{SECTION}\0".encode()


class DeferredPart:
    """A HostPart of an archive's member, which is parsed when an attribute is asked for.

    The symbols that only bitcode has for a host are not among them.
    """

    is_whole = False
    host_symbols: frozenset[str] = frozenset()

    def __init__(self, archive: Path, member: Member, parse: Callable[[Member], Any]) -> None:
        self.archive = archive
        self.member = member.name
        self.name = f"{archive}({member.name})"
        self._parse = parse
        self._member = member
        self._parsed: list[Any] = []
        self._absent: set[str] = set()  # names that the device code does not have

    def parsed(self) -> Any:
        """Return the HostPart; None if the member has no code for devices to link after all.

        Raises UsageError if the member is malformed.
        """
        if not self._parsed:
            self._parsed.append(self._parse(self._member))
        return self._parsed[0]

    @property
    def is_parsed(self) -> bool:
        """Return whether the member has been parsed."""
        return bool(self._parsed)

    @property
    def is_linkable(self) -> bool:
        """Return whether the member defines anything that a host's link could look for."""
        data = self._member.data
        assert isinstance(data, Reader)
        try:
            elf = headers.read(data)
            return any(
                symbol.binding != headers.STB_LOCAL and symbol.is_defined
                for table in elf.of_type(headers.SHT_SYMTAB)
                for symbol in elf.symbols(table)
            )
        except FormatError:
            return True  # the long way has the message

    def may_define(self, names: set[str]) -> bool:
        """Return whether the device code may define one of the names, without parsing it.

        Uncompressed ELF files have their names in their bytes.
        """
        if self._parsed:
            return True
        new = names - self._absent
        if new and _may_have(self._member, [name.encode() for name in new]):
            return True
        self._absent |= new
        return False

    def __getattr__(self, name: str) -> Any:
        part = self.parsed()
        if part is not None:
            return getattr(part, name)
        return {"parts": (), "entry_symbols": ()}[name]


def deferrable(path: Path, data: Reader, wanted: Callable[[Reader], bool]) -> list[Member]:
    """Return the members with offload code; none unless all of them can be parsed later.

    These are sound ELF objects in the archive itself, with device code in clang's section.
    """
    found: list[Member] = []
    try:
        for member in members.members(path, data):
            if isinstance(member.data, Reader) and not wanted(member.data):
                continue
            if not _is_plain(path, member):
                return []
            found.append(member)
    except FormatError:
        return []  # the long way has the message
    return found


def _may_have(member: Member, names: Sequence[bytes]) -> bool:
    """Return whether a member's images contain one of the names, or have another form than ELF."""
    assert isinstance(member.data, Reader)
    try:
        elf = headers.read(member.data)
        for section in elf.named(SECTION):
            for blob in offload_binary.blobs(elf.content(section)):
                is_plain = blob.compression is None and blob.image.starts_with(headers.MAGIC)
                if not is_plain or len(blob.image) > LARGEST:
                    return True
                content = blob.image.bytes()
                if any(name in content for name in names):
                    return True
    except FormatError:
        return True  # the long way has the message
    return False


def _is_plain(path: Path, member: Member) -> bool:
    data = member.data
    return (
        isinstance(data, Reader)
        and data.is_stored
        and member.file == path
        and "(" not in member.name
        and headers.probe(data)
        and DEVICE_CODE in headers.section_names(data)
    )
