# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Join a program with the libraries that it needs and that offload.

Libraries register before the program that needs them, so their images come first, and with them the
numbers of devices.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from packager.elf import headers
from packager.errors import FormatError
from packager.files.reader import open_reader
from packager.formats.containers import cuda_fatbin
from packager.formats.containers import known as containers
from packager.formats.containers.bundles import bundle_section, hip_fatbin
from packager.formats.host_records import entries, fatbin_wrappers, gcc_offload
from packager.machine.dynamic_loader import Library
from packager.model import FatBinary, Model
from packager.records import NamedTuple

# Prefixes of libraries that are runtimes themselves.
RUNTIMES = ("libomptarget.", "libomp.", "libiomp5.", "libgomp.", "libtarget.so")
ASKED = ("libomptarget.so", "libtarget.so")
OTHER_CONTAINERS: dict[str, Model] = {
    cuda_fatbin.NAME: "cuda",
    hip_fatbin.NAME: "hip",
    bundle_section.NAME: "sycl",
}


class Offload(NamedTuple):
    """The kinds of offload code in a library, by the names of its sections."""

    is_openmp: bool
    others: frozenset[Model]  # the runtimes that it has code for


class Elsewhere(NamedTuple):
    """A library with code for other runtimes than OpenMP's, which was not read."""

    path: Path
    models: tuple[Model, ...]


class Whole(NamedTuple):
    """The parts of a program as one, numbered through, and the file that each is of."""

    binary: FatBinary
    image_files: tuple[str, ...]
    entry_files: tuple[str, ...]

    @property
    def has_libraries(self) -> bool:
        """Return whether an image or an entry comes from a file other than the program."""
        return any(file != self.binary.path for file in (*self.image_files, *self.entry_files))


def looked_at(library: Library) -> Offload | None:
    """Return the kinds of offload code in a library; None if it has none or cannot be read."""
    if library.path is None or library.name.startswith(RUNTIMES):
        return None
    try:
        with open_reader(library.path) as data:
            if not headers.probe(data):
                return None
            found = _of_sections(headers.read(data))
    except FormatError:
        return None
    asks = any(name.startswith(ASKED) for name in library.needed)
    is_openmp = found.is_openmp or asks
    return Offload(is_openmp, found.others) if is_openmp or found.others else None


def _of_sections(file: headers.Elf) -> Offload:
    others: set[Model] = set()
    is_openmp = gcc_offload.claims(file)
    for section in file.sections:
        container = containers.of_section(section)
        other = OTHER_CONTAINERS.get(container.NAME) if container else None
        other = other or fatbin_wrappers.model_of(section)
        if other:
            others.add(other)
        elif container or entries.expected(section.name):
            is_openmp = True
    return Offload(is_openmp, frozenset(others))


def joined(program: FatBinary, libraries: Sequence[FatBinary]) -> Whole:
    """Return the program and its libraries as one file, in the order in which they register."""
    parts = [*libraries, program]
    whole = program._replace(
        abi=program.abi or next((part.abi for part in parts if part.abi), None),
        images=(),
        tables=(),
        descriptors=(),
        registrations=(),
        archives=(),
        newer=(),
        clangs=(),
        map_bits=0,
    )
    for part in parts:
        whole = _added(whole, part)
    images = tuple(part.path for part in parts for _ in part.images)
    return Whole(whole, images, tuple(part.path for part in parts for _ in part.entries))


def _added(whole: FatBinary, part: FatBinary) -> FatBinary:
    first, entry = len(whole.images), len(whole.entries)

    def moved(indices: Sequence[int]) -> tuple[int, ...]:
        return tuple(first + index for index in indices)

    return whole._replace(
        images=(*whole.images, *(i._replace(index=first + i.index) for i in part.images)),
        tables=(
            *whole.tables,
            *(
                table._replace(
                    images=moved(table.images),
                    entries=tuple(e._replace(number=entry + e.number) for e in table.entries),
                )
                for table in part.tables
            ),
        ),
        descriptors=(
            *whole.descriptors,
            *(d._replace(images=moved(d.images)) for d in part.descriptors),
        ),
        registrations=(
            *whole.registrations,
            *(r._replace(images=moved(r.images)) for r in part.registrations),
        ),
        archives=(*whole.archives, *part.archives),
        newer=(*whole.newer, *part.newer),
        runtimes=tuple(dict.fromkeys((*whole.runtimes, *part.runtimes))),
        clangs=(*whole.clangs, *(part.clangs if part.tables else ())),
        map_bits=whole.map_bits | part.map_bits,
    )
