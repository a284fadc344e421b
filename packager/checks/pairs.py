# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Check that the entries of the host and of its images fit together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from packager.generations import GENERATIONS, named
from packager.model import (
    DeviceImage,
    DeviceSymbol,
    EntryTable,
    FatBinary,
    Finding,
    OffloadEntry,
    Severity,
)
from packager.pairing import (
    DEVICE_KINDS,
    counterparts,
    has_kind,
    has_size,
    is_opaque,
    known_as,
    listed,
    needs_device,
    on_gcc_device,
    order_differences,
    sizes,
)
from packager.wording import counted

# ABIs whose runtime pairs the n-th entry of the host with the n-th of the image (DECISIONS 17).
PAIRED_BY_ORDER = (
    "interface", "proposal", "gcc", *(row.name for row in GENERATIONS if row.pairing == "position")
)  # fmt: skip
# Clang's prefix of kernel names. Other exported functions of its images are not for the host.
CLANG_KERNEL = "__omp_offloading_"
# Most names compared, in all, to find near names: comparing is slow.
MAX_NEAR = 2000
IN_HEADER = "a region in a header needs no change; otherwise rename one"
# Entries shown before and after the first one that is out of order.
AROUND = 2
MAX_NEAR_LENGTH = 200


def missing(binary: FatBinary) -> Iterator[Finding]:
    """An entry of the host that no image for a triple and arch defines.

    The runtime looks for the entry in the image that it loads. If the entry is missing, the region
    runs on the host, or the program ends, depending on OMP_TARGET_OFFLOAD. Causes: the entry was
    optimised out of the device code, its source file or static library was compiled without the
    offload target, or the image is older than the host.

    Cure: build the image from the same sources as the host; make the function externally visible;
    name it with `lower --entry`. Near names listed with the finding often show a renamed kernel.
    """
    for table in binary.tables:
        for images in _targets(table, binary):
            if any(is_opaque(table, image) for image in images):
                continue  # bitcode and the like: OMP110 says so where that is a fault
            known = (
                {name for image in images for name in image.contents.listed}
                if table.has_names
                else set()
            )
            unlisted = {s.name for image in images for s in image.symbols if not s.listed}
            looked_through = 0
            theirs = zip(*(counterparts(table, image) for image in images), strict=True)
            for entry, symbols in zip(table.entries, theirs, strict=True):
                if needs_device(entry) and not any(symbols):
                    looked_through += len(known)
                    near = known if looked_through <= MAX_NEAR else set()
                    yield _missing(entry, images, near, entry.name in unlisted)


def _targets(table: EntryTable, binary: FatBinary) -> Iterable[list[DeviceImage]]:
    """Return the images of a table, grouped by triple and arch."""
    targets: dict[tuple[str, str], list[DeviceImage]] = {}
    for index in table.images:
        image = binary.images[index]
        targets.setdefault((image.triple, image.arch), []).append(image)
    return targets.values()


def _missing(
    entry: OffloadEntry, images: list[DeviceImage], known: set[str], hidden: bool
) -> Finding:
    where = _image(images[0]) if len(images) == 1 else f"all images for {images[0].declared}"
    message = f"{entry.kind} {entry.label} is missing in {where}"
    hint = "build the image from the same sources as the host"
    near = _near(entry.name, known) if entry.name else []
    if hidden and entry.name:
        hint = "the image defines the symbol, but its own table of entries does not list it"
    elif near:
        hint = f"the image has {', '.join(near)}"
    return Finding("OMP105", "error", message, hint, entry.number, images[0].index)


def _near(name: str, known: set[str]) -> list[str]:
    if not known or len(name) > MAX_NEAR_LENGTH:
        return []
    from difflib import get_close_matches

    short = (other for other in known if len(other) <= MAX_NEAR_LENGTH)
    return get_close_matches(name, sorted(short), n=3)


def _order_severity(table: EntryTable) -> Severity:
    """Return the severity of a wrong order: error if the ABI pairs by position, else info."""
    return "error" if table.abi in PAIRED_BY_ORDER else "info"


def _image(image: DeviceImage) -> str:
    return f"image {image.index} ({image.target})"


def misordered(binary: FatBinary) -> Iterator[Finding]:
    """The image's own table has its entries in another order than the host's.

    GCC's runtime and those of the proposal of 2013 and of LLVM up to 14 pair the n-th entry of the
    host with the n-th of the image, so a region runs another region's kernel: an error. Runtimes of
    the interface document may do so, or restore the order by name, as omptool's does: a warning if
    the image has every entry under its name, once, else an error. Later LLVM pairs by name; there
    the finding is information. Entries missing on one side do not count (OMP105 and OMP107 name
    them). The proposal's records have no names. The runtime refuses such tables as a whole if they
    differ in length. Two swapped entries show in their sizes (OMP109) and in the symbols that files
    still have for them.

    Cure: list the kernels in the host's order: `lower --entry` in that order, or `bundle --entries
    auto`, which takes the image's order.
    """
    for table in binary.tables:
        for index in table.images:
            image = binary.images[index]
            yield from _lengths(table, image)
            moved = order_differences(table, image)
            if not moved:
                continue
            host, device = next(iter(moved.items()))
            place, entry = next((k, e) for k, e in enumerate(table.entries) if known_as(e) == host)
            entries = f"{counted(len(moved), 'entry')} {'is' if len(moved) == 1 else 'are'}"
            message = (
                f"{entries} in another order in {_image(image)}: "
                f"the first is entry {place}, {host} in the host, {device} in the image"
            )
            hint = "give both sides one order (`lower --entry`, `bundle --entries auto`)"
            shown = tuple(_side_by_side(table, image, place))
            severity = "warning" if _has_all_names(table, image) else _order_severity(table)
            yield Finding("OMP106", severity, message, hint, entry.number, index, shown)


def _has_all_names(table: EntryTable, image: DeviceImage) -> bool:
    """Return whether names can restore the order of the image's entries (DECISIONS 26)."""
    names = [symbol.name for symbol in image.table or ()]
    pairs = zip(table.entries, counterparts(table, image), strict=True)
    are_found = all(entry.name and symbol for entry, symbol in pairs if needs_device(entry))
    return table.abi == "interface" and are_found and all(names) and len({*names}) == len(names)


def _side_by_side(table: EntryTable, image: DeviceImage, place: int) -> Iterator[str]:
    """Yield the host's and the image's names around the first difference, with that row marked."""
    ours = [known_as(entry) for entry in table.entries]
    theirs = [symbol.name for symbol in image.table or ()]
    if table.abi == "gcc":
        theirs = [on_gcc_device(entry, image) for entry in table.entries]
    rows = range(max(0, place - AROUND), min(max(len(ours), len(theirs)), place + AROUND + 1))
    wide = max(len(name) for name in ("host", *ours[rows.start : rows.stop]))
    yield f"       {'host':{wide}}   image {image.index}"
    for row in rows:
        left, right = (names[row] if row < len(names) else "" for names in (ours, theirs))
        yield f"{row:5} {' ' if left == right else '!'}{left:{wide}}   {right}".rstrip()


def _lengths(table: EntryTable, image: DeviceImage) -> Iterator[Finding]:
    """Report tables without names whose lengths differ, the only sign of a mismatch."""
    if table.has_names or is_opaque(table, image):
        return
    ours, theirs = len(table.entries), len(image.contents.places or ())
    if ours != theirs:
        has = f"has {theirs}" if image.contents.places is not None else "has no table of entries"
        message = (
            f"the host lists {counted(ours, 'entry')}, and {_image(image)} {has}: without names "
            "they pair by position, and the runtime refuses the image"
        )
        hint = "list the same entries in one order on both sides (`lower --entry`)"
        yield Finding("OMP106", "error", message, hint, None, image.index)


def unreferenced(binary: FatBinary) -> Iterator[Finding]:
    """A kernel in an image that no entry of the host names.

    No region can run it. Alone this is harmless, but together with a missing entry (OMP105) it
    shows a renamed kernel or an image that is older than the host. Functions of clang's images
    count only if they have the names of kernels (`__omp_offloading_...`).

    Cure: rebuild image and host from the same sources, or name the kernels with `lower --entry`.
    """
    named = {entry.name for entry in binary.entries}
    for table in binary.tables:
        if not table.has_names:
            continue  # each record of the image's table is an entry
        for index in table.images:
            image = binary.images[index]
            for name in _kernels(table, image):
                if name not in named:
                    message = f"the host has no entry for kernel {name} of {_image(image)}"
                    hint = "is the image older than the host, or the kernel renamed?"
                    yield Finding("OMP107", "warning", message, hint, None, index)


def _kernels(table: EntryTable, image: DeviceImage) -> list[str]:
    symbols = image.contents.listed.items()
    names = [name for name, symbol in symbols if _is_kernel(symbol) and symbol.is_told]
    if table.abi == "interface":
        return names
    return [name for name in names if name.startswith(CLANG_KERNEL)]


def _is_kernel(symbol: DeviceSymbol) -> bool:
    return (symbol.symbol_kind or symbol.kind) == "kernel"


def duplicated(binary: FatBinary) -> Iterator[Finding]:
    """A name that one table of entries lists twice.

    One of the two is never found, or the tables of host and image get out of step. Causes: two
    source files define kernels of the same name, an object is linked twice, or a list of entries
    repeats a name. Clang lists a region in a header once for each file that includes the header.
    Such records are equal in everything and are only information, if the image lists the same names
    in the same places where entries pair by position. If a function includes a header twice, its
    two regions have one name; clang 14 lists only the first, and the second ends the program. Among
    objects that are checked together, kernels of one name with different code are found, too: one
    source compiled twice with different flags.

    Cure: rename one of them, or link the object once.
    """
    for table in binary.tables:
        severity = _duplicates_severity(table, binary)
        names: dict[str, list[OffloadEntry]] = {}
        for entry in table.entries:
            names.setdefault(entry.name, []).append(entry)
        for name, same in names.items():
            count = sum(map(needs_device, same))
            if count > 1 and name:
                yield _duplicated(name, count, same, severity)
    for name in binary.unlisted:
        message = f"a second region {name} has no entry: the program ends where this region runs"
        yield Finding("OMP108", "error", message, "use clang 16 or later, or a function for each")
    for image in binary.images:
        listings = Counter(symbol.name for symbol in image.table or ())
        hosts = [table for table in binary.tables if image.index in table.images]
        # An image without a host may be meant for a host that pairs by order.
        severity = _duplicates_severity(hosts[0], binary) if hosts else "error"
        for name, count in listings.items():
            if count > 1:
                what = f"{name} is listed {count} times in the table of {_image(image)}"
                hint = IN_HEADER if severity == "info" else "rename one of them"
                yield Finding("OMP108", severity, what, hint, None, image.index)


def _duplicates_severity(table: EntryTable, binary: FatBinary) -> Severity:
    """Return the severity of equal records.

    It is info if clang made them and every image lists the same names in the same places.
    """
    images = [binary.images[index] for index in table.images]
    names = listed(table)
    is_clangs = named(table.abi) is not None
    if is_clangs and all([s.name for s in i.table or ()] == names for i in images):
        return "info"
    return _order_severity(table)


def _duplicated(name: str, count: int, same: list[OffloadEntry], severity: Severity) -> Finding:
    is_alike = len({(e.address, e.symbol, e.size, e.flags) for e in same}) == 1
    severity = severity if is_alike else "error"
    message = f"{name} is listed {count} times in the host's table"
    hint = IN_HEADER if severity == "info" else "rename one, or link the object once"
    return Finding("OMP108", severity, message, hint, same[1].number)


def mismatched(binary: FatBinary) -> Iterator[Finding]:
    """Host and image disagree on the size of a global, or on whether a name is a kernel.

    The runtime copies as many bytes as the host's entry has. If the variable on the device is
    smaller, the copy overwrites its neighbours; if it is larger, part of it is never written. The
    cause is a type that differs between the compilations: long, bool and long double, alignment,
    preprocessor conditions.

    Cure: use types of fixed size for shared data, and build both from one source.
    """
    for table in binary.tables:
        for index in table.images:
            image = binary.images[index]
            for entry, symbol in zip(table.entries, counterparts(table, image), strict=True):
                if symbol and needs_device(entry):
                    yield from _mismatch(entry, image, symbol)


def _named(entry: OffloadEntry) -> str:
    return entry.name or f"entry {entry.label}"


def _mismatch(entry: OffloadEntry, image: DeviceImage, symbol: DeviceSymbol) -> Iterator[Finding]:
    hint = "build host and image from one source, with types of fixed size"
    if not has_kind(entry, symbol):
        theirs = symbol.symbol_kind or symbol.kind
        ours = DEVICE_KINDS[entry.kind]
        message = f"{_named(entry)} is a {ours} in the host and a {theirs} in {_image(image)}"
        yield Finding("OMP109", "error", message, hint, entry.number, image.index)
    elif not has_size(entry, symbol):
        values = " and ".join(str(size) for size in sorted(sizes(symbol)))
        message = (
            f"global {entry.label} has {entry.size} bytes in the host, {values} in {_image(image)}"
        )
        yield Finding("OMP109", "error", message, hint, entry.number, image.index)
