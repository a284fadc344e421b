# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The reason why a file has no offload code: it was compiled for the host alone.

Without -fopenmp-targets clang makes a plain function of each region, under the name that its
kernel would have. The optimizer may leave nothing of it but that name in debug information, and
strip takes symbols away. GCC's regions call libgomp whatever they were compiled for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from packager.dwarf.declared import inflated, sections
from packager.elf import headers, imports
from packager.elf.headers import SHT_DYNSYM, SHT_SYMTAB, Elf
from packager.errors import FormatError, LimitError
from packager.files.reader import Reader
from packager.kernel_names import decode
from packager.model import HostOnly

# A name, without what clang adds to it for the functions that a region is cut into.
_MARK = b"__omp_offloading_"
_REGION = re.compile(
    rb"\b__omp_offloading_[0-9a-f]{1,16}_[0-9a-f]{1,16}_[\w$.]{1,4096}?_l[0-9]{1,10}(?![0-9])"
)
# GCC's regions and data constructs call these.
_GCC_MARK = b"GOMP_target"
_LIBGOMP = re.compile(rb"\0(GOMP_target\w*)\0")
GCC_SECTIONS = ".gnu.offload"
_OVERLAP = 8192  # of pieces: a longer name is not found where it is cut
MAX_REGIONS = 1 << 12
OPENMP = ("libomp.so", "libiomp5.so", "libgomp.so")
SHOWN = 3

CLANG_CURE = "give -fopenmp-targets=TRIPLE to compiler and linker, or build with `omptool cc`"
GCC_CURE = "build with a GCC that has an offload compiler (-foffload=), or with `omptool cc`"


def found(data: Reader) -> HostOnly | None:
    """Return what the file of this Reader shows; None if that is nothing, or it is no ELF file."""
    if not headers.probe(data):
        return None
    try:
        return _found(headers.read(data))
    except (FormatError, LimitError):
        return None


def _found(elf: Elf) -> HostOnly | None:
    runtimes = [name for name in imports.libraries(elf).needed if name.startswith(OPENMP)]
    has_offload = any(section.name.startswith(GCC_SECTIONS) for section in elf.sections)
    if has_offload or imports.offload_imports(elf).names:
        return None  # the compiler knew of devices
    regions = _regions(elf, is_openmp=bool(runtimes) or elf.is_object)
    if regions:
        names = ", ".join(regions[:SHOWN]) + (", …" if len(regions) > SHOWN else "")
        message = f"clang compiled target regions for the host alone ({names}), without "
        message += "-fopenmp-targets"
        return HostOnly(message, CLANG_CURE, True)
    calls = _calls(elf)
    if calls:
        message = f"GCC compiled target constructs ({calls[0]}), without code for devices"
        return HostOnly(message, GCC_CURE, True)
    if runtimes:
        message = f"the file uses OpenMP ({runtimes[0]}), and may have target regions: "
        message += "without -fopenmp-targets they are plain host code"
        return HostOnly(message, CLANG_CURE, False)
    return None


def _regions(elf: Elf, *, is_openmp: bool) -> list[str]:
    """Return function and line of each region, by the names that are left."""
    names: dict[str, None] = {}
    for text in _texts(elf, is_openmp=is_openmp):
        for match in _matches(text, _REGION) if text.holds(_MARK) else ():
            decoded = decode(match[0].decode())
            if decoded:
                names.setdefault(str(decoded))
            if len(names) >= MAX_REGIONS:
                return list(names)
    return list(names)


def _calls(elf: Elf) -> list[str]:
    """Return the functions of libgomp's that target constructs call."""
    tables = elf.of_type(SHT_SYMTAB if elf.is_object else SHT_DYNSYM)
    texts = [elf.string_table(table.link, "names of symbols") for table in tables[:1]]
    texts = [text for text in texts if text.holds(_GCC_MARK)]
    called = {match[1].decode() for text in texts for match in _matches(text, _LIBGOMP)}
    return sorted(name for name in called if not imports.defines(elf, name))


def _texts(elf: Elf, *, is_openmp: bool) -> Iterator[Reader]:
    """Yield the names of symbols, and those of debug information where regions may be."""
    for table in elf.symbol_tables():
        yield elf.string_table(table.link, "names of symbols")
    for section in sections(elf, ".debug_str") if is_openmp else ():
        yield inflated(elf, section)


def _matches(text: Reader, pattern: re.Pattern[bytes]) -> Iterator[re.Match[bytes]]:
    rest = b""
    for piece in text.pieces():
        block = rest + piece
        yield from pattern.finditer(block)
        rest = block[-_OVERLAP:]
