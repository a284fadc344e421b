# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The reason why a file has no offload code: it was compiled for the host alone.

Without -fopenmp-targets clang makes a plain function of each region, under the name that its
kernel would have. The optimizer may leave nothing of it but that name in debug information, and
strip takes symbols away. GCC's regions call libgomp whatever they were compiled for.

A file may also have both: regions for devices, with entries, and regions of objects that were
compiled without -fopenmp-targets. Of those, functions or names in debug information are left that
no entry has.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from itertools import islice

from packager.elf import headers, imports
from packager.elf.headers import SHT_DYNSYM, SHT_SYMTAB, STB_LOCAL, STT_FUNC, Elf
from packager.errors import FormatError, LimitError
from packager.files.reader import Reader
from packager.model import HostOnly
from packager.naming.kernel_names import decode
from packager.naming.region_names import short_names
from packager.patterns import pattern
from packager.wording import counted

# Matches a name without the suffixes that clang adds to parts of a region.
_MARK = b"__omp_offloading_"
_REGION = pattern(
    rb"\b__omp_offloading_[0-9a-f]{1,16}_[0-9a-f]{1,16}_[\w$.]{1,4096}?_l[0-9]{1,10}(?![0-9])"
)
# Prefix of the functions that GCC's regions and data constructs call.
_GCC_MARK = b"GOMP_target"
_LIBGOMP = pattern(rb"\0(GOMP_target\w*)\0")
GCC_SECTIONS = ".gnu.offload"
_OVERLAP = 8192  # overlap of pieces: a longer name is missed at a cut
MAX_REGIONS = 1 << 12
OPENMP = ("libomp.so", "libiomp5.so", "libgomp.so")
SHOWN = 3
_START = _MARK.decode()
_STRINGS = "debug_str"  # ends of names of sections
_ID = ".region_id"  # suffix of the variable whose address identifies a region with device code
_DEBUG = "_debug__"  # suffix of the function that a kernel calls under -g
_OF_VARIABLES = ("ctor", "dtor")  # suffixes of device variables' functions, which are no regions
WITHOUT = "without -fopenmp-targets"

CLANG_CURE = "give -fopenmp-targets=TRIPLE to compiler and linker, or build with `omptool cc`"
GCC_CURE = "build with a GCC that has an offload compiler (-foffload=), or with `omptool cc`"


def found(data: Reader, named: Collection[str] | None = None) -> HostOnly | None:
    """Return the host-only regions that this file shows; None if it shows none.

    `named` has the names of the file's entries; without it a file with device code shows nothing.
    """
    if not headers.probe(data):
        return None
    try:
        return _found(headers.read(data), named)
    except (FormatError, LimitError):
        return None


def of_functions(names: Collection[str]) -> HostOnly | None:
    """Return the host-only regions of an object without entries, from its function names."""
    bases = (name.partition(".")[0].removesuffix(_DEBUG) for name in names)
    regions = tuple(dict.fromkeys(base for base in bases if decode(base)))
    return (
        HostOnly(f"{headline(regions)}, {WITHOUT}", CLANG_CURE, True, regions) if regions else None
    )


def _found(elf: Elf, named: Collection[str] | None) -> HostOnly | None:
    is_for_gcc = any(section.name.startswith(GCC_SECTIONS) for section in elf.sections)
    if named or is_for_gcc or imports.offload_imports(elf).names:  # the compiler knew of devices
        left = () if named is None else _without_entry(elf, named)
        return HostOnly(f"{headline(left)}, {WITHOUT}", CLANG_CURE, True, left) if left else None
    runtimes = [name for name in imports.libraries(elf).needed if name.startswith(OPENMP)]
    regions = _regions(elf, is_openmp=bool(runtimes) or elf.is_object)
    if regions:
        names = _listed(_places(regions))
        message = f"clang compiled target regions for the host alone ({names}), {WITHOUT}"
        return HostOnly(message, CLANG_CURE, True, regions)
    calls = _calls(elf)
    if calls:
        message = f"GCC compiled target constructs ({calls[0]}), without code for devices"
        return HostOnly(message, GCC_CURE, True)
    if runtimes:
        message = f"the file uses OpenMP ({runtimes[0]}), and may have target regions: "
        message += f"{WITHOUT} they are plain host code"
        return HostOnly(message, CLANG_CURE, False)
    return None


def has_functions(data: Reader) -> bool:
    """Return whether symbols of an ELF file name parts of regions, with or without an entry."""
    try:
        return headers.probe(data) and any(_functions(headers.read(data)))
    except (FormatError, LimitError):
        return False


def headline(regions: Sequence[str]) -> str:
    """Return the number of host-only regions, from the names of their kernels.

    The optimizer may have removed others.
    """
    places = _places(regions)
    were = "was" if len(places) == 1 else "were"
    total = counted(len(places), "region")
    return f"at least {total} {were} compiled for the host alone ({_listed(places)})"


def _places(regions: Sequence[str]) -> list[str]:
    """Return function and line of regions, by the names of their kernels."""
    short = short_names(regions)
    return list(dict.fromkeys(short.get(name, name) for name in regions))


def _listed(places: Sequence[str]) -> str:
    return ", ".join(places[:SHOWN]) + (", …" if len(places) > SHOWN else "")


def _without_entry(elf: Elf, named: Collection[str]) -> tuple[str, ...]:
    """Return the names of kernels that the file has functions of its host for, and no entry.

    Of a function that the optimizer has inlined, debug information has the name. A source that has
    entries was compiled for devices: its other regions have an `if` that is always false, and no
    kernel by the program's own choice.
    """
    kept: dict[str, None] = {}
    kernels: set[str] = set()  # kernels that a CPU's device image exports, or with an ID
    for name, is_local in _functions(elf):
        if name.endswith(_ID):
            kernels.add(name[1:].removesuffix(_ID))
            continue
        base = name.partition(".")[0].removesuffix(_DEBUG)
        decoded = decode(base)
        if base == name and not is_local:
            kernels.add(name)
        elif decoded and base not in named and decoded.suffix not in _OF_VARIABLES:
            kept.setdefault(base)
        if len(kept) >= MAX_REGIONS:
            break
    with suppress(FormatError, LimitError):  # symbols count whatever debug information has
        for name in islice(_in_debug_information(elf), MAX_REGIONS):
            if name not in named:
                kept.setdefault(name)
    sources = {_source(name) for name in (*named, *kernels)}
    return tuple(name for name in kept if _source(name) not in sources)


def _source(name: str) -> tuple[int, int] | str:
    """Return device and inode of a region's source; a name that is not clang's stands alone."""
    found = decode(name)
    return (found.device, found.inode) if found else name


def _functions(elf: Elf) -> Iterator[tuple[str, bool]]:
    """Yield the functions that are parts of regions, whether they are local, and IDs of regions.

    A region for devices has an ID even where its entry was removed.
    """
    for table in elf.of_type(SHT_SYMTAB):
        what = f"names of {table.name}"
        if not elf.string_table(table.link, what).holds(_MARK):
            continue
        names = elf.strings(table.link, what)
        for symbol in elf.symbols(table):
            name = names[symbol.name_at] if symbol.is_defined and symbol.name_at else ""
            is_part = symbol.type == STT_FUNC and name.startswith(_START)
            if is_part or (name.startswith(f".{_START}") and name.endswith(_ID)):
                yield name, symbol.binding == STB_LOCAL


def _in_debug_information(elf: Elf) -> Iterator[str]:
    """Yield the kernel's name of each region in debug information."""
    for text in _debug_strings(elf):
        found = _matches(text, _REGION) if text.holds(_MARK) else ()
        yield from (name for match in found if decode(name := match[0].decode()))


def _regions(elf: Elf, *, is_openmp: bool) -> tuple[str, ...]:
    """Return the kernel's name of each region, as far as names are left: one for each place."""
    names: dict[str, str] = {}
    for text in _texts(elf, is_openmp=is_openmp):
        for match in _matches(text, _REGION) if text.holds(_MARK) else ():
            name = match[0].decode()
            decoded = decode(name)
            if decoded:
                names.setdefault(str(decoded), name)
            if len(names) >= MAX_REGIONS:
                break
    return tuple(names.values())


def _calls(elf: Elf) -> list[str]:
    """Return the functions of libgomp's that target constructs call."""
    tables = elf.of_type(SHT_SYMTAB if elf.is_object else SHT_DYNSYM)
    texts = [elf.string_table(table.link, "names of symbols") for table in tables[:1]]
    texts = [text for text in texts if text.holds(_GCC_MARK)]
    called = {match[1].decode() for text in texts for match in _matches(text, _LIBGOMP)}
    return sorted(name for name in called if not imports.defines(elf, name))


def _texts(elf: Elf, *, is_openmp: bool) -> Iterator[Reader]:
    """Yield the names of symbols, and the names in debug information."""
    for table in elf.symbol_tables():
        yield elf.string_table(table.link, "names of symbols")
    if is_openmp:
        yield from _debug_strings(elf)


def _debug_strings(elf: Elf) -> Iterator[Reader]:
    """Yield the strings of debug information."""
    if not any(section.name.endswith(_STRINGS) for section in elf.sections):
        return
    from packager.dwarf.declared import inflated, sections  # slow to load

    for section in sections(elf, f".{_STRINGS}"):
        yield inflated(elf, section)


def _matches(text: Reader, pattern: re.Pattern[bytes]) -> Iterator[re.Match[bytes]]:
    rest = b""
    for piece in text.pieces():
        block = rest + piece
        yield from pattern.finditer(block)
        rest = block[-_OVERLAP:]
