# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The places of the checker's findings: source lines by debug information, else functions."""

from __future__ import annotations

import os
import shutil
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from mmap import PAGESIZE
from pathlib import Path

from packager.dwarf import containing
from packager.elf import headers
from packager.elf.headers import PT_LOAD, STT_FUNC, Elf
from packager.errors import PackagerError
from packager.files.reader import Reader, open_reader
from packager.look import Look
from packager.machine.run_check.check_codes import OF_HOST
from packager.machine.run_check.check_run import CheckFinding, SourceLine
from packager.naming.demangle import demangled
from packager.naming.region_names import without_parameters

LOOK = Look(symbols=True, resources=False)
Lines = dict[int, SourceLine]
Functions = dict[int, str]


def with_lines(
    findings: Iterable[CheckFinding], program: Path, called: str
) -> tuple[CheckFinding, ...]:
    """Return the findings with source lines from debug information, else with functions.

    `program` is the program's file, `called` the name by which the loader knows it.
    """
    found = tuple(findings)
    own = {os.fsencode(called): program}
    calls: dict[bytes, Lines] = {}
    functions: dict[bytes, Functions] = {}
    for name, offsets in _calls(found).items():
        path = own.get(name) or _path(name)
        calls[name] = _lines_of_file(path, offsets) if path else {}
        left = offsets - calls[name].keys()
        functions[name] = _functions_of_file(path, left) if path and left else {}
    files = dict.fromkeys([program, *(path for one in found if (path := _call_path(one, own)))])
    kernels = _kernels(found, files)
    return tuple(_with_lines(finding, calls, functions, kernels) for finding in found)


def _with_lines(
    finding: CheckFinding,
    calls: Mapping[bytes, Lines],
    functions: Mapping[bytes, Functions],
    kernels: Mapping[str, Lines],
) -> CheckFinding:
    call = finding.call
    return finding._replace(
        call_line=calls.get(call.file, {}).get(call.offset - 1) if call else None,
        call_function=functions.get(call.file, {}).get(call.offset - 1, "") if call else "",
        kernel_line=kernels.get(finding.entry, {}).get(finding.kernel) if finding.kernel else None,
    )


def _calls(findings: Iterable[CheckFinding]) -> dict[bytes, set[int]]:
    """Return the calls whose lines are needed, by file. A call ends before its return address."""
    found: dict[bytes, set[int]] = {}
    for finding in findings:
        if finding.call and (finding.code in OF_HOST or not finding.source):
            found.setdefault(finding.call.file, set()).add(finding.call.offset - 1)
    return found


def _call_path(finding: CheckFinding, own: Mapping[bytes, Path]) -> Path | None:
    name = finding.call.file if finding.call else b""
    return own.get(name) or _path(name)


def _path(name: bytes) -> Path | None:
    """Return the file that the loader calls so: a program without a slash was found on PATH."""
    if not name:
        return None
    called = os.fsdecode(name)
    found = called if "/" in called else shutil.which(called)
    return Path(found) if found else None


def _kernels(findings: Iterable[CheckFinding], files: Iterable[Path]) -> dict[str, Lines]:
    """Return the lines of kernels' instructions, by entry, from the first file that has them."""
    wanted: dict[str, set[int]] = {}
    for finding in findings:
        if finding.kernel and finding.entry:
            wanted.setdefault(finding.entry, set()).add(finding.kernel)
    found: dict[str, Lines] = {}
    for path in files if wanted else ():
        with suppress(PackagerError, OSError):
            for entry, lines in _in_images(path, wanted):
                found.setdefault(entry, lines)
    return found


def _in_images(path: Path, wanted: Mapping[str, set[int]]) -> Iterator[tuple[str, Lines]]:
    """Yield the lines in a program's images for its own machine: others have no such addresses."""
    from packager.hosts.load import load_all

    for loaded in load_all(path, LOOK):
        machine = loaded.elf.machine if loaded.elf else None
        for image, data in zip(loaded.binary.images, loaded.data, strict=True):
            names = {symbol.name for symbol in image.symbols} & wanted.keys()
            if names and image.kind == "elf" and image.contents.machine == machine:
                lines = _lines(data, {offset for name in names for offset in wanted[name]})
                yield from ((name, lines) for name in names)


def _lines_of_file(path: Path, offsets: Iterable[int]) -> Lines:
    try:
        with open_reader(path) as data:
            return _lines(data, offsets)
    except (PackagerError, OSError):
        return {}


def _functions_of_file(path: Path, offsets: Collection[int]) -> Functions:
    """Return the functions that have code at offsets from the first loaded byte."""
    found: Functions = {}
    with suppress(PackagerError, OSError), open_reader(path) as data:
        elf = headers.read(data)
        base = _base(elf)
        for address, name in _covering(elf, sorted({base + offset for offset in offsets})):
            found.setdefault(address - base, without_parameters(demangled(name)))
    return found


def _covering(elf: Elf, wanted: list[int]) -> Iterator[tuple[int, str]]:
    """Yield each address of a sorted list with the name of the function around it."""
    for table in elf.symbol_tables():
        names = elf.strings(table.link, "names of symbols")
        for symbol in elf.symbols(table):
            if symbol.type != STT_FUNC or not symbol.is_defined:
                continue
            for address in wanted[bisect_left(wanted, symbol.value) :]:
                if address >= symbol.value + symbol.size:
                    break
                yield address, names[symbol.name_at]


def _lines(data: Reader, offsets: Iterable[int]) -> Lines:
    """Return the lines at offsets from the first loaded byte; none where debug information ends."""
    found: Lines = {}
    with suppress(PackagerError):
        elf = headers.read(data)
        base = _base(elf)
        for address, place in containing.places(elf, {base + offset for offset in offsets}):
            found[address - base] = SourceLine(place.file, place.line)
    return found


def _base(elf: Elf) -> int:
    """Return the address of the page that the loader loads first."""
    loads = (segment.address for segment in elf.segments if segment.type == PT_LOAD)
    return min(loads, default=0) // PAGESIZE * PAGESIZE
