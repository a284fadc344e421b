# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Find the ABI of an entry table (DECISIONS 14)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

from packager.generations import GENERATIONS, NAMES, NEWEST, Generation, of_release
from packager.layouts import (
    INTERFACE_ENTRY,
    PROPOSAL_ENTRY,
    PROPOSAL_REGISTER,
    REGISTER,
    EntryLayout,
)
from packager.model import Abi
from packager.patterns import pattern
from packager.records import NamedTuple

# auditwheel appends a hash to the file name.
_LIBRARY = pattern(r"libomptarget(?:-[0-9a-f]{8})?\.so\.(\d{1,4})(?:\..*)?")
# ABIs of the documents, by the records and by the name of the registration function.
DOCUMENTS: dict[EntryLayout, Abi] = {INTERFACE_ENTRY: "interface", PROPOSAL_ENTRY: "proposal"}
_REGISTRATIONS: dict[str, Abi] = {REGISTER: "interface", PROPOSAL_REGISTER: "proposal"}
# Clang calls this function for each region since release 15.
_KERNEL_CALL, FIRST_WITH_KERNEL_CALL = "__tgt_target_kernel", 15


Registration = Literal["init_array", "at_exit"]


class Evidence(NamedTuple):
    """Evidence of a file's generation: the records that it registers, and how."""

    imports: tuple[str, ...]  # undefined __tgt_*
    needed: tuple[str, ...]  # DT_NEEDED
    is_wrapped: bool | None  # registered are containers; None: nothing is
    registration: Registration | None  # None: the file does not show it
    container_version: int  # OffloadBinary version in it; 0: none
    releases: Sequence[int]  # releases of clang that compiled parts of it


def of_table(layout: EntryLayout, section: str | None, evidence: Evidence) -> Abi:
    """Return the ABI of a table of entries, which is in `section`."""
    if layout in DOCUMENTS:
        return DOCUMENTS[layout]
    rows = [row for row in GENERATIONS if row.record_size == layout.record]
    return _of(rows, section or "", evidence)


def of_file(evidence: Evidence) -> Abi | None:
    """Return the ABI of a file without entries: None, unless it registers something."""
    called = [name for name in evidence.imports if name.startswith("__tgt_register_lib")]
    if not called:
        return None
    return _REGISTRATIONS.get(called[0]) or _of(GENERATIONS, "", evidence)


def _of(rows: Sequence[Generation], section: str, evidence: Evidence) -> Abi:
    """Return the generation that fits.

    A test that no remaining generation passes is no evidence: several compilers may have made
    parts of a file.
    """
    for fits in _tests(section, evidence):
        rows = [row for row in rows if fits(row)] or rows
    return rows[0].name


def _tests(section: str, evidence: Evidence) -> Iterator[Callable[[Generation], bool]]:
    """Yield tests that tell generations apart, from the wrapper's records to replaceable parts."""
    calls = {name.partition("@")[0] for name in evidence.imports}
    version = min(evidence.container_version, NEWEST.container_version)
    if evidence.is_wrapped is not None:
        yield lambda row: row.is_wrapped == evidence.is_wrapped
    if evidence.registration is not None:
        yield lambda row: row.registration == evidence.registration
    if section:
        yield lambda row: section.startswith(row.entries_section)
    if _KERNEL_CALL in calls:
        yield lambda row: row.first_release >= FIRST_WITH_KERNEL_CALL
    yield lambda row: row.container_version == version
    libraries = filter(None, map(release_of, evidence.needed))
    for release in (max(evidence.releases, default=0), *libraries):
        if release:
            yield of_release(release).__eq__


def release_of(library: str) -> int:
    """Return the LLVM release in the name of a libomptarget; 0 for any other name."""
    named = _LIBRARY.fullmatch(library)
    return int(named[1]) if named else 0


def newest(abis: Iterable[Abi]) -> Abi:
    """Return the newest LLVM ABI of `abis`, which suits objects of all."""
    return max(abis, key=lambda abi: NAMES.index(abi) if abi in NAMES else len(NAMES))
