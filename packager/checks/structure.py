# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Check the file as a whole: libraries, generations, copies, leftovers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from packager import newer
from packager.abi import release_of
from packager.checks.registration import CLANG
from packager.foreign_runtimes import at_start, when_used
from packager.formats.containers import omptool_section
from packager.generations import named
from packager.model import DeviceImage, EntryTable, FatBinary, Finding
from packager.naming.kernel_names import decode
from packager.pairing import needs_device
from packager.patterns import pattern
from packager.wording import counted

UPDATE = "update omptool; the other parts of the file were checked"
RUNTIMES = ("libomptarget.so", "libtarget.so")
# Code that reaches further than this from its data does not link in the small code model.
REACH = 3 << 29
_SM = pattern(r"sm_(\d+)(\d)([af]?)")
_HASHED = pattern(r".*entries_[0-9a-f]{8,}")


def without_runtime(binary: FatBinary) -> Iterator[Finding]:
    """Calls of the offload runtime, and no library that has them.

    A linked file calls __tgt_ functions but names no libomptarget among the libraries it needs. Any
    library counts from which the file needs the versions of these functions, whatever the library's
    name: auditwheel renames libraries. The file loads only into a program that has already loaded a
    runtime; otherwise the loader ends the program with "undefined symbol". A usual cause: only the
    compiler got -fopenmp-targets=.

    Cure: give the offload flags to the link too, or link with -lomptarget.
    """
    if binary.type not in ("executable", "shared") or not binary.imports:
        return
    if binary.runtimes or any(name.startswith(RUNTIMES) for name in binary.needed):
        return
    some = ", ".join(name.split("@")[0] for name in binary.imports[:3])
    calls = f"the file calls {some}{', …' if len(binary.imports) > 3 else ''}"
    yield Finding("OMP102", "error", f"{calls}, but needs no libomptarget", CLANG)


def mixed_generations(binary: FatBinary) -> Iterator[Finding]:
    """Entries of two generations of one ABI in one program.

    The runtime reads the table of entries as one array. LLVM 20 made its records longer, and LLVM
    21 gave their section another name. A program linked from objects of both registers only one of
    the two tables, or reads a section with both kinds of records as one kind. The regions of the
    other kind run on the host, or the program crashes. Clang also changed the calling convention of
    kernels for CPUs in 18 and in 23. So a program may crash, or be refused, on a libomptarget of
    another release than its compiler's. This holds for clang 18 on LLVM 19's and later, clang 23 on
    22's and older, and clang 19 to 22 on 23's.

    Cure: compile all objects, libraries too, with one release of the compiler.
    """
    mine = [t for t in binary.tables if named(t.abi) and t.entries]
    sizes = sorted({table.record_size for table in mine})
    if len(sizes) > 1 and binary.type != "object":
        what = " and ".join(f"{size}-byte" for size in sizes)
        message = f"the entries have {what} records, of different generations of clang"
        yield Finding("OMP104", "error", message, "compile all with one release of clang")
    for table in mine:
        if table.size % table.record_size == 0 and _is_garbled(table):
            message = (
                f"{table.name} holds records of different sizes: some entries have no valid name"
            )
            yield Finding("OMP104", "error", message, "compile all with one release of clang")
    yield from _of_another_runtime(binary)


def _of_another_runtime(binary: FatBinary) -> Iterator[Finding]:
    """Yield a finding where the release of LLVM's runtime that a program needs does not run it."""
    releases = (release_of(library) for library in binary.needed)
    release = next((release for release in releases if release), 0)
    if not release or binary.type == "object" or not named(binary.abi):
        return
    reason = at_start(binary, release) or when_used(binary, release)
    if reason and binary.images:
        message = (
            f"the runtime of LLVM {release}, which the program needs, ends the program: {reason}"
        )
        hint = "link with the library of the newest clang that compiled, or use `omptool run`"
        yield Finding("OMP104", "error", message, hint)


def _is_garbled(table: EntryTable) -> bool:
    return any(not entry.name and entry.kind != "requires" for entry in table.entries)


def newer_compiler(binary: FatBinary) -> Iterator[Finding]:
    """A tool that came after this omptool made the file, or a part of it.

    Its output may have a new meaning, and omptool guesses nothing. These mark such a compiler: an
    unknown version of entry records or of an OffloadBinary, unknown bits of map types, and the
    release that `.comment` of the host or of an image names. The runtime ignores a library with
    such entries or registered containers, and a construct with such bits. The release alone decides
    nothing: the record of a call also has a version, which only the runtime sees, and regions whose
    calls it knows run on the device. The release is a warning where images are of known clangs and
    the host is of those, too: then parts of the host without device code may be the newer one's.

    A part of a container, or a wrapper for HIP's or CUDA's runtime, is of a newer format if its
    kind, version, compression or magic is not known and its sizes are sound. This is a warning, and
    all other parts are checked.

    Cure: update omptool, or compile with the newest clang that it knows.
    """
    found = newer.newer_compiler(binary)
    if found:
        yield Finding("OMP131", found.severity, found.sentence, newer.CURE)
    for image in binary.images:
        if image.contents.newer and not (found and image.container_version):
            message = f"image {image.index} is of a newer format: {image.contents.newer}"
            yield Finding("OMP131", "warning", message, UPDATE, None, image.index)
    for part in binary.newer:
        message = f"a part of the file is of a newer format: {part}"
        yield Finding("OMP131", "warning", message, UPDATE)


def same_target_twice(binary: FatBinary) -> Iterator[Finding]:
    """Two images that fit one device.

    Since LLVM 21 a runtime takes the first image that fits a device; older ones load all that fit.
    Two images are for one triple and arch, or the first is for a family of processors and the
    second for one of them (sm_80 before sm_89, gfx90a before gfx90a:xnack+). Each runtime may then
    run another one, and may never find kernels that only the second has.

    Cure: link the device code of one target into one image; name the most specific archs first.
    """
    if binary.type == "object":
        return  # each source file has its own, which the linker wrapper links
    for descriptor in binary.descriptors:
        images = [binary.images[index] for index in descriptor.images if index < len(binary.images)]
        images = [image for image in images if image.container != "gcc"]  # libgomp links those
        for number, later in enumerate(images):
            first = next((one for one in images[:number] if _serves(one, later)), None)
            if first is None:
                continue
            if first.processor == later.processor:
                message = f"images {first.index} and {later.index} are both for {later.target}: "
                hint = "link the device code of a target into one image"
            else:
                message = f"image {first.index} ({first.target}) also fits the devices of image "
                message += f"{later.index} ({later.processor}): "
                hint = "name the most specific archs first"
            message += "a runtime may take only the first"
            yield Finding("OMP112", "warning", message, hint, None, later.index)


def _serves(one: DeviceImage, other: DeviceImage) -> bool:
    """Return whether the devices that load `other` also load `one`."""
    if not other.triple or one.triple != other.triple:
        return False
    mine, theirs = _SM.fullmatch(one.processor), _SM.fullmatch(other.processor)
    if mine and theirs and one.kind == other.kind:
        # cubins run on later processors of their generation, except cubins for sm_90a and the like
        is_later = int(mine[2]) < int(theirs[2]) and mine[3] != "a"
        return mine[1] == theirs[1] and (is_later or mine[2] == theirs[2])
    base, *features = one.processor.split(":")
    other_base, *others = other.processor.split(":")
    return base == other_base and one.kind == other.kind and set(features) <= set(others)


def several_registrations(binary: FatBinary) -> Iterator[Finding]:
    """More than one descriptor of one ABI, or one that is empty.

    To the runtime, each descriptor is a library of its own, with device numbers, images and a
    table. Objects bundled by omptool have one each and share the table. LLVM's linker wrapper makes
    one for a file; two come from relocatable links by the compiler's driver and from other
    languages' wrappers. They are sound if each spans entries of its own, not if both span the same.

    Cure: if that is not wanted, link all objects in one step.
    """
    tables = {(table.abi, table.address) for table in binary.tables if named(table.abi)}
    starts = {address for _, address in tables}
    spans = Counter(
        (d.entries_begin, d.entries_end) for d in binary.descriptors if d.entries_begin in starts
    )
    for (begin, end), count in spans.items():
        if count > 1 and begin is not None and begin != end:
            message = f"{count} descriptors register the same entries at {begin:#x}..{end:#x}"
            hint = "each counts as a library of its own: wrap the images once"
            yield Finding("OMP118", "warning", message, hint)
    per_abi = Counter(abi for abi, _ in tables)
    for abi, count in per_abi.items():
        if count > 1 and len(binary.descriptors) > 1:
            message = f"{count} tables of ABI {abi} are registered apart"
            yield Finding("OMP118", "warning", message, "link all objects in one step if you can")


def nothing_to_offload(binary: FatBinary) -> Iterator[Finding]:
    """Offloading was asked for, and there is nothing to offload.

    The file has device images and registers them, but has no entry: none of its sources has a
    target region or a variable of the device. OMP_TARGET_OFFLOAD=MANDATORY does not notice this.

    Cure: none is needed; if regions were expected, check that their sources were compiled with the
    offload flags.
    """
    spans = any(d.entries_begin != d.entries_end for d in binary.descriptors)
    if binary.descriptors and not spans and not any(map(needs_device, binary.entries)):
        message = "the file has device images, but no target region and no device variable"
        yield Finding("OMP120", "info", message, "were the sources compiled with offload flags?")


def out_of_reach(binary: FatBinary) -> Iterator[Finding]:
    """Images so large that code no longer reaches its data.

    In the small code model instructions reach 2 GiB. Images between code and data push the two
    apart; near that size the link fails with "relocation truncated to fit", or the next larger
    image will make it fail.

    Cure: put the images last (`omptool bundle` does), compress them, or use -mcmodel=medium.
    """
    if binary.data_address is None or binary.type == "object":
        return
    ends = [i.address + i.size for i in binary.images if i.address is not None]
    before = [end for end in ends if end <= binary.data_address]
    if before and max(before) > REACH:
        message = (
            f"images end at {max(before):#x}, in front of the data: code may not reach the data"
        )
        yield Finding("OMP121", "warning", message, "put the images last, or compress them")


def without_headers(binary: FatBinary) -> Iterator[Finding]:
    """The file has no section headers.

    omptool read it through its program headers and relocations. Other tools list nothing; the
    program runs as before.

    Cure: none is needed.
    """
    if not binary.has_headers and not binary.is_empty:
        message = "the file has no section headers: omptool used program headers and relocations"
        yield Finding("OMP122", "info", message, "the file needs no change")


def host_only(binary: FatBinary) -> Iterator[Finding]:
    """OpenMP without code for devices.

    Clang makes plain functions of target regions unless -fopenmp-targets names a target, and GCC
    makes no code for devices unless it has an offload compiler. The program silently runs on the
    host, as if it had no target constructs, whatever OMP_TARGET_OFFLOAD is. Names of the regions in
    the file's symbols and debug information show this (OMP133). Where the optimizer or strip
    removed them, such a program looks like one that uses OpenMP on the host.

    Cure: give -fopenmp-targets=TRIPLE to compiler and linker, or build with `omptool cc`.
    """
    if binary.host_only and binary.is_empty and not binary.host_only.is_shown:
        yield Finding("OMP132", "info", binary.host_only.message, binary.host_only.cure)


def regions_without_entry(binary: FatBinary) -> Iterator[Finding]:
    """Target regions that were compiled for the host alone.

    One object, archive or library of a build lacked -fopenmp-targets (with GCC, an offload
    compiler): clang makes plain functions of its regions. They silently run on the host, whatever
    devices there are, also where other regions of the same program run on a device. The functions
    have the names of kernels, and no entry has them. A region of which the optimizer or strip left
    no function does not show, so there may be more.

    Cure: give -fopenmp-targets=TRIPLE to the compiler of every object and to the linker, or build
    with `omptool cc`.
    """
    if binary.host_only and binary.host_only.is_shown:
        yield Finding("OMP133", "warning", binary.host_only.message, binary.host_only.cure)


def leftovers_of_relocatable_link(binary: FatBinary) -> Iterator[Finding]:
    """An object whose entries are registered already.

    A relocatable link (-r) by clang's driver closes the entries of its objects into a table of
    their own, with a descriptor and, since clang 19, a hash in its name. Objects that are linked to
    it later have another table. Clang 16 leaves strong __dummy symbols behind, so such an object
    does not link with any other that has regions.

    Cure: link all objects in one step, or all relocatable ones with one release of clang.
    """
    if binary.type != "object":
        return
    mine = [table for table in binary.tables if named(table.abi) and table.section]
    closed = [t.section for t in mine if _HASHED.fullmatch(t.section or "")]
    # An object by `bundle` or `emit` registers the entries of all objects of a link.
    is_ours = any(image.container == omptool_section.NAME for image in binary.images)
    if not closed and binary.descriptors and not is_ours:
        closed = [t.section for t in mine]
    if closed:
        message = f"a relocatable link closed {', '.join(map(str, closed))}"
        yield Finding("OMP123", "warning", message, "link all objects in one step if you can")


def member_without_device_code(binary: FatBinary) -> Iterator[Finding]:
    """A member of an archive has entries, but no device code.

    The host part of a static library's object has target regions, but its device part is missing:
    the object was compiled without the offload target, or a tool stripped or removed that part. The
    regions link, and run on the host.

    Cure: build the member with the same offload flags as the rest.
    """
    if not binary.path.endswith(")") or binary.images:
        return
    count = sum(needs_device(entry) for entry in binary.entries)
    if count and any(named(table.abi) for table in binary.tables):
        message = f"{counted(count, 'entry')}, but no device code"
        yield Finding("OMP124", "error", message, "build it with the offload flags of the rest")


def rebuilt_apart(binary: FatBinary) -> Iterator[Finding]:
    """Kernels of the same functions and lines, under names of another build.

    Clang's names hold the device and inode numbers of the source file. A copy of the file, or a
    checkout on another file system, gives the same kernel another name. Host and image were built
    from two copies.

    Cure: compile host and device in one step, or both from the same files.
    """
    entries = {entry.name: decode(entry.name) for entry in binary.entries}
    if not any(entries.values()):
        return
    for image in binary.images:
        names = {symbol.name for symbol in image.symbols}
        others = {str(at): name for name in names - set(entries) if (at := decode(name))}
        for name, decoded in entries.items():
            if decoded and name not in names and str(decoded) in others:
                message = (
                    f"{name} is {others[str(decoded)]} in image {image.index}: "
                    "host and image were built from two copies of one source"
                )
                yield Finding("OMP126", "info", message, "build both from the same files")


def other_device_numbers(binary: FatBinary) -> Iterator[Finding]:
    """Two descriptors list their triples in different orders.

    Devices are numbered in the order in which libraries register and descriptors list their images.
    If two parts of a program list the same triples in different orders, a number means one device
    to the first part and another to the second.

    Cure: give --image (or -fopenmp-targets=) in one order everywhere.
    """
    orders = [triples(binary, d.images) for d in binary.descriptors]
    yield from clashes([(f"descriptor {n}", order) for n, order in enumerate(orders)])


def triples(binary: FatBinary, images: tuple[int, ...]) -> list[str]:
    """Return the triples of a descriptor's images, in its order."""
    named: list[DeviceImage] = [binary.images[index] for index in images]
    return list(dict.fromkeys(image.triple for image in named if image.triple))


def clashes(orders: Sequence[tuple[str, list[str]]]) -> Iterator[Finding]:
    """Yield OMP127 for each two of the named orders of triples that cannot both be had."""
    for number, (one, first) in enumerate(orders):
        for other, second in orders[number + 1 :]:
            common = set(first) & set(second)
            a, b = ([t for t in order if t in common] for order in (first, second))
            if a != b:
                message = f"{one} lists {', '.join(a)}, {other} {', '.join(b)}: "
                message += "device numbers mean different devices"
                hint = "name the targets in one order everywhere"
                yield Finding("OMP127", "error", message, hint)
