# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Add device images to a finished executable or library that registers none yet (DECISIONS 16)."""

from __future__ import annotations

from pathlib import Path

from packager.abi import release_of
from packager.editing.collect.added import Bounds, image, records
from packager.editing.collect.dynamic_symbols import Import, imported
from packager.editing.collect.entry_table import table
from packager.editing.collect.hooks import hook
from packager.editing.described import GCCS, Form
from packager.editing.finish import Edited, finish
from packager.editing.linked import LinkedFile
from packager.editing.plan import Binding, Fixup, Part, Plan, joined
from packager.elf.headers import DT_FLAGS_1, PT_INTERP, WORD
from packager.errors import UsageError
from packager.files.checksums import Checksums
from packager.formats.host_records.descriptors import (
    DESCRIPTOR_BEGIN,
    DESCRIPTOR_END,
    DESCRIPTOR_IMAGES,
)
from packager.generations import GENERATIONS
from packager.hosts.host_file import HostFile
from packager.layouts import BIN_DESC, AbiName, WrittenAbi
from packager.model import FatBinary
from packager.writers.elf_types import SHF_ALLOC, SHF_WRITE
from packager.writers.generation import matching
from packager.writers.requests import WrapRequest, for_openmp, own_formats
from packager.writers.wrapper import DATA_SECTION

DF_1_PIE = 0x08000000
LLVMS = "@VERS1.0"
# Library to add to a program that needs no runtime yet, by ABI.
LIBRARIES: dict[AbiName, str] = {
    "interface": "libomptarget.so",
    "proposal": "libtarget.so",
    **{row.name: row.soname for row in GENERATIONS},
}


def register(
    host: HostFile,
    request: WrapRequest,
    sums: Checksums,
    out: Path,
) -> Edited:
    """Write to `out`, which may be `host`, the file with images that it registers when it starts.

    `sums` are the checksums of the requested images' files. Errors are those of `edit`.
    """
    binary = host.binary
    _expect_unregistered(binary)
    abi = matching(host, request.abi)
    file = LinkedFile(host)
    _expect_loaded(file)
    inputs, seen = for_openmp(request.images, request.files, force=request.force)
    imports, slots = _slots(file, binary, abi)
    entry_table = table(file, binary, seen, request.entries, abi)
    form = Form(abi.is_wrapped, abi.container_version)
    images = [image(file, one, form) for one in inputs]
    listed = records(file, abi.image, entry_table.bounds, [one.bounds for one in images])
    descriptor = _descriptor(len(images), listed, entry_table.bounds)
    hooks = hook(file, descriptor, slots)
    news = Plan((descriptor,)), imports, Plan((slots,)), entry_table.plan
    plan = joined([*news, *(one.plan for one in images), Plan((listed,)), hooks])
    own = own_formats(seen)
    return finish(
        file, plan, out, sums,
        is_wrapped=abi.is_wrapped, own=own, force=request.force, copied=request.copied,
    )  # fmt: skip


def _descriptor(count: int, listed: Part, entries: Bounds) -> Part:
    return Part(
        "fixed", DATA_SECTION, (BIN_DESC.pack(count, 0, 0, 0, 0),), WORD.size,
        flags=SHF_ALLOC | SHF_WRITE,
        fixups=(
            Fixup(DESCRIPTOR_IMAGES, listed.at(0)),
            Fixup(DESCRIPTOR_BEGIN, entries.begin),
            Fixup(DESCRIPTOR_END, entries.end),
        ),
    )  # fmt: skip


def _expect_unregistered(binary: FatBinary) -> None:
    if binary.abi == "gcc":
        raise UsageError(GCCS)
    if binary.descriptors:
        raise UsageError("already registers device images: `omptool edit` changes them")


def _expect_loaded(file: LinkedFile) -> None:
    """Raise UsageError for a static program, which loads no libraries."""
    table = file.dynamic
    has_interpreter = any(s.type == PT_INTERP for s in file.segments)
    flags = (table.value(DT_FLAGS_1) if table else 0) or 0
    is_library = file.elf.is_dynamic and not flags & DF_1_PIE
    if table is None or not (has_interpreter or is_library):
        raise UsageError("is static: no runtime would be loaded for it; link it with its images")


def _slots(file: LinkedFile, binary: FatBinary, abi: WrittenAbi) -> tuple[Plan, Part]:
    """Return the plan to import the runtime's two functions, and slots for their addresses."""
    wanted = [_import(abi.register), _import(abi.unregister)]
    library = next((name for name in binary.needed if _is_runtime(name, abi)), LIBRARIES[abi.name])
    numbers, plan = imported(file, library, wanted)
    bindings = [
        Binding(number * WORD.size, symbol << 32 | file.machine.slot)
        for number, symbol in enumerate(numbers)
    ]
    slots = Part(
        "fixed", ".got.omptool", (bytes(len(numbers) * WORD.size),), WORD.size,
        flags=SHF_ALLOC | SHF_WRITE, bindings=tuple(bindings),
    )  # fmt: skip
    return plan, slots


def _import(name: str) -> Import:
    function, _, version = name.partition("@")
    return Import(function, version or LLVMS[1:])


def _is_runtime(library: str, abi: WrittenAbi) -> bool:
    """Return whether a library that the file needs is the runtime of an ABI."""
    if abi.name == "proposal":
        return library == LIBRARIES["proposal"]
    return library == LIBRARIES["interface"] or bool(release_of(library))
