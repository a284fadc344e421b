# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Check that the entries of a file reach a runtime, each by an address of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from packager import layouts
from packager.abi import DOCUMENTS
from packager.model import Abi, Descriptor, EntryTable, FatBinary, Finding, OffloadEntry
from packager.pairing import needs_device

REGISTER = "__tgt_register_lib"
BUNDLE = "put the device images into the object with `omptool bundle` and link the result"
EDITED = "the linker or a tool moved or dropped entries"
UNVERSIONED = "link with -lomptarget, without `mold -r`, which drops the versions of symbols"
GCC = (
    "give -foffload=TARGET (nvptx-none, amdgcn-amdhsa) to a GCC with that offload compiler, "
    "without -foffload=disable"
)
LIBTARGET_FIRST = "link with -lomptarget before -ltarget"
UNFOLDED = "link with --icf=safe or --icf=none, or make the host versions differ"
# Most names in a message: a table may have a thousand empty stubs.
SHOWN = 4
ADDED = "put one in with `omptool edit --add`"
CLANG = (
    "give clang its offload flags (-fopenmp-targets=, --offload-arch=) at the link too, or put "
    "`omptool link --` in front of the link command"
)


def unregistered(binary: FatBinary) -> Iterator[Finding]:
    """Entries that nothing registers.

    A program passes its entries and images to the offload runtime as a descriptor, by a call of
    __tgt_register_lib in a constructor. Without this call, every target region silently runs on the
    host, whatever devices there are (or the program crashes in its first region). Causes: the
    offload flags were given to the compiler but not to the linker; the linker driver is not the one
    that compiled; an object with entries was never bundled with its device images. Or the wrapper's
    call has lost its symbol version, and reaches the function of the same name that reads LLVM's
    records: `mold -r` drops versions.

    Cure: link with clang and the same offload flags as at compile time, or by any compiler with
    `omptool link --` in front of the command; for a host without device code run `omptool bundle`
    on the object and link the result. In an object file this is not an error: bundling or the link
    registers the entries.
    """
    if binary.type == "object" and not binary.descriptors:
        yield from _not_yet(binary)
        return
    for table in binary.tables:
        count = sum(needs_device(entry) for entry in table.entries)
        if count and not (_is_covered(table, binary) or _is_emptied(table, binary)):
            lack = "there is no image" if table.abi == "gcc" else "no descriptor registers them"
            what = f"{_entries(count)} in {table.name} but {lack}"
            message = f"{what}: every region runs on the host"
            yield Finding("OMP101", "error", message, _hint(table.abi))
    for descriptor in binary.descriptors:
        yield from _registration(descriptor, binary)
    yield from _version(binary)


def _version(binary: FatBinary) -> Iterator[Finding]:
    """Check that the registration function of each record version is imported (DECISIONS 4)."""
    imports = [name for name in binary.imports if name.startswith(REGISTER)]
    for table in binary.tables:
        if not imports or not _is_covered(table, binary):
            continue
        if table.abi == "interface" and layouts.REGISTER not in imports:
            yield _lost(table, layouts.REGISTER)
        elif table.abi == "proposal" and not {REGISTER, layouts.PROPOSAL_REGISTER} & set(imports):
            yield _lost(table, layouts.PROPOSAL_REGISTER)
        elif table.abi not in DOCUMENTS.values() and set(imports) == {layouts.PROPOSAL_REGISTER}:
            message = (
                f"libtarget.so's {REGISTER} reads the entries of {table.name} as those of 2013, "
                "and every region runs on the host"
            )
            yield Finding("OMP101", "error", message, LIBTARGET_FIRST)


def _lost(table: EntryTable, register: str) -> Finding:
    version = register.removeprefix(REGISTER)
    message = (
        f"the call of {REGISTER} has lost its symbol version {version}: the runtime reads "
        f"the entries of {table.name} as LLVM's, and every region runs on the host"
    )
    return Finding("OMP101", "error", message, UNVERSIONED)


def _not_yet(binary: FatBinary) -> Iterator[Finding]:
    if binary.is_bitcode:
        message = "the object is bitcode (-flto) with device code: the link will register it"
        yield Finding("OMP101", "info", message, CLANG)
    count = sum(needs_device(entry) for entry in binary.entries)
    if count:
        what = "the link" if binary.images else "bundling the object with its images"
        message = f"the object has {_entries(count)}: {what} will register them"
        yield Finding("OMP101", "info", message, _hint(binary.abi))


def _hint(abi: Abi | None) -> str:
    if abi == "gcc":
        return GCC
    return CLANG if (abi or "").startswith("llvm") else BUNDLE


def _entries(count: int) -> str:
    return f"{count} {'entry' if count == 1 else 'entries'}"


def _is_covered(table: EntryTable, binary: FatBinary) -> bool:
    return any(set(table.images) & set(descriptor.images) for descriptor in binary.descriptors)


def _is_emptied(table: EntryTable, binary: FatBinary) -> bool:
    """Return whether a descriptor with these entries has no image; another finding reports that."""
    return any(
        not descriptor.images
        and None not in (table.address, descriptor.entries_begin, descriptor.entries_end)
        and (descriptor.entries_begin or 0) <= (table.address or 0) < (descriptor.entries_end or 0)
        for descriptor in binary.descriptors
    )


def _registration(descriptor: Descriptor, binary: FatBinary) -> Iterator[Finding]:
    where = f"the descriptor at {_place(descriptor)}"
    if not descriptor.images:
        message = f"{where} lists no device image: every region runs on the host"
        hint = _hint(binary.abi) if binary.type == "object" else ADDED
        yield Finding("OMP101", "error", message, hint)
    elif descriptor.registered_by is None:
        if not descriptor.is_traced:
            return
        if any(name.startswith(REGISTER) for name in binary.imports):
            message = f"no constructor was found that registers {where}"
            yield Finding("OMP101", "warning", message, "check that it is registered otherwise")
        else:
            message = f"{where} is never registered: the file does not call {REGISTER}"
            yield Finding("OMP101", "error", message, _hint(binary.abi))


def _place(descriptor: Descriptor) -> str:
    if descriptor.address is None:
        return f"file offset {descriptor.offset:#x}"
    return f"{descriptor.address:#x}"


def wrong_range(binary: FatBinary) -> Iterator[Finding]:
    """A descriptor that does not span the table of entries.

    The descriptor's two pointers should be the start and the end of the section of entries, which
    the linker defines as __start_ and __stop_ symbols. Otherwise regions outside the range never
    run on a device, and a range that is too long makes the runtime read garbage. Causes: a linker
    script that moves sections, a section that was garbage collected in part, and tools that edit
    linked files. A script that merges the section with others and defines both symbols itself is
    sound: then the descriptor's range holds the entries.

    Cure: link again without the script or the tool; with a linker script, keep the section of
    entries in an output section of its own, of the same name.
    """
    for table in binary.tables:
        if table.size % table.record_size:
            where = f"section {table.section}" if table.section else table.name
            message = f"{where} of {table.size} bytes is not a whole number of records"
            hint = f"records have {table.record_size} bytes; was the file edited?"
            yield Finding("OMP103", "error", message, hint)
    for descriptor in binary.descriptors:
        yield from _range(descriptor, binary)


def _range(descriptor: Descriptor, binary: FatBinary) -> Iterator[Finding]:
    begin, end = descriptor.entries_begin, descriptor.entries_end
    tables = [(table, table.address) for table in binary.tables if table.address is not None]
    if begin is None or end is None:
        return  # an object: the linker will define the bounds
    spans = f"the descriptor at {_place(descriptor)} spans {begin:#x}..{end:#x}"
    if not tables:
        if begin != end:
            yield Finding("OMP103", "error", f"{spans}, which is not in the file", EDITED)
        return
    if any((begin, end) == (address, address + table.size) for table, address in tables):
        return
    if begin == end and any(_is_covered(table, binary) for table, _ in tables):
        return  # a second wrapper, for code without any entry
    table, start = min(tables, key=lambda pair: abs(pair[1] - begin))
    shared = max(0, min(end, start + table.size) - max(begin, start)) // table.record_size
    entries = f"entries of {table.name} at {start:#x}..{start + table.size:#x}"
    message = f"{spans}: {shared} of the {len(table.entries)} {entries}"
    yield Finding("OMP103", "error", message, EDITED)


def folded(binary: FatBinary) -> Iterator[Finding]:
    """Kernels of different names whose host versions have one address: host addresses fold.

    The runtime gets the address of a region's host version and looks the kernel up by it. So
    regions that share an address all run the same kernel, which is wrong for all but one. Linkers
    fold functions of equal code, such as empty or trivial host versions, when identical code
    folding is on (--icf=all). Two names for one function have the same effect.

    Cure: link with --icf=safe or --icf=none, or make the host versions differ.
    """
    for table in binary.tables:
        for same in _of_one_address(table):
            yield _shared_address(same)


def _of_one_address(table: EntryTable) -> Iterator[list[OffloadEntry]]:
    """Yield the kernels of a table that share an address: one list for each address."""
    groups: dict[tuple[str | None, int], dict[str, OffloadEntry]] = {}
    for entry in table.entries:
        if entry.kind == "kernel" and entry.target is not None:
            groups.setdefault(entry.target, {}).setdefault(entry.label, entry)
    return (list(group.values()) for group in groups.values() if len(group) > 1)


def _shared_address(same: Sequence[OffloadEntry]) -> Finding:
    names = ", ".join(entry.label for entry in same[:SHOWN])
    more = f" and {len(same) - SHOWN} more" if len(same) > SHOWN else ""
    first = same[0]
    where = first.symbol if first.address is None else f"{first.address:#x}"
    at = f" ({where})" if where else ""
    message = f"kernels {names}{more} share one host address{at}: all their regions run one kernel"
    return Finding("OMP130", "error", message, UNFOLDED, same[1].number)
