# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Find the ABI of a host, and its generation of LLVM's ABI."""

from __future__ import annotations

from collections.abc import Sequence

from packager.errors import UsageError
from packager.generations import listed
from packager.hosts.host_file import HostFile
from packager.layouts import WRITTEN, WrittenAbi
from packager.model import EntryTable


def of_host(host: HostFile) -> WrittenAbi:
    """Return the generation of LLVM's ABI of a host.

    It follows from the entry table, calls and libraries. Raises UsageError if these are ambiguous.
    """
    tables = [table for table in _tables(host) if WRITTEN[table.abi].is_llvm]
    found = _one(tables)
    if found is None:
        raise UsageError(
            f"has no table of clang's entries: name its generation by --abi {listed()}"
        )
    return in_section(found, tables)


def of_entries(host: HostFile) -> WrittenAbi:
    """Return the ABI of a host's OpenMP entries; the interface document's if it has none.

    Raises UsageError for several.
    """
    tables = [
        table for table in _tables(host) if any(entry.model == "openmp" for entry in table.entries)
    ]
    return in_section(_one(tables) or WRITTEN["interface"], tables)


def _one(tables: Sequence[EntryTable]) -> WrittenAbi | None:
    found = sorted({table.abi for table in tables})
    if len(found) > 1:
        raise UsageError(f"has entries of {' and '.join(found)}: name one by --abi")
    return WRITTEN[found[0]] if found else None


def matching(host: HostFile, abi: WrittenAbi) -> WrittenAbi:
    """Return `abi`, with the host's section name of entries.

    LLVM 20 has records of 22 in the section of 19. Raises UsageError if the host's records have
    another size.
    """
    if not abi.is_llvm:
        return abi
    tables = [table for table in _tables(host) if WRITTEN[table.abi].is_llvm]
    sizes = {table.record_size for table in tables}
    if sizes and abi.entry.record not in sizes:
        table = tables[0]
        raise UsageError(
            f"has entries of {table.record_size} bytes, as {table.abi}; those of {abi.name} have "
            f"{abi.entry.record}"
        )
    return in_section(abi, tables)


def _tables(host: HostFile) -> list[EntryTable]:
    return [table for table in host.binary.tables if table.abi in WRITTEN]


def in_section(abi: WrittenAbi, tables: Sequence[EntryTable]) -> WrittenAbi:
    """Return `abi` with the section name of the tables that have its records."""
    names = {table.section for table in tables if table.record_size == abi.entry.record}
    if not names or abi.entries_section in names:
        return abi
    section = min(name or "" for name in names)
    return abi._replace(entries_section=section) if section else abi
