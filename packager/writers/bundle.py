# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Device images into a relocatable object: the host's own, or one that holds the wrapper alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from struct import Struct
from typing import BinaryIO, Literal

from packager.errors import UsageError
from packager.files.replacing import replacing
from packager.host_machines.machine import HostMachine
from packager.hosts.host_file import HostFile
from packager.layouts import IMAGE_SECTION_PREFIX, WRITTEN, WrittenAbi
from packager.model import DeviceImage, Finding
from packager.writers.assembly import write_assembly
from packager.writers.checked import checked
from packager.writers.entries import EntrySource, listed_entries, shared_entries
from packager.writers.generation import matching
from packager.writers.host_object import HostObject, blank_host, read_host
from packager.writers.llvm_ir import write_ir
from packager.writers.object_writer import write_object
from packager.writers.requests import WrapRequest, for_openmp, own_formats
from packager.writers.streams import ignore
from packager.writers.wrapper import EntryInput, Wrapper, build

Form = Literal["object", "asm", "llvm-ir"]


def bundle(file: HostFile, request: WrapRequest, out: Path) -> list[Finding]:
    """Write to `out` the object `file` with the requested images.

    Returns the findings of `verify` about the result. Raises FindingError, and writes nothing, if
    one is an error and `force` is not set; UsageError or FormatError if an input is unfit.
    """
    host = read_host(file.data)
    if any(name.startswith(IMAGE_SECTION_PREFIX) for name in host.names):
        raise UsageError("already holds device images; bundle the object the compiler wrote")
    abi = matching(file, request.abi)
    inputs, images = for_openmp(request.images, request.files, force=request.force)
    chosen = _host_entries(host, images, request.entries, abi)
    says_requires = chosen is not None and abi.requires not in host.symbol_table()
    wrapper = build(inputs, chosen, abi, host.machine, alone=False, says_requires=says_requires)
    return _write(out, host, wrapper, request._replace(abi=abi), own_formats(images))


def emit(
    request: WrapRequest, out: Path, machine: HostMachine, form: Form = "object"
) -> list[Finding]:
    """Write a wrapper alone to `out`, to be linked with host objects of `machine`.

    The host objects bring the entries; with a list or "auto", they bring the symbols that the
    entries name. Raises the errors of `bundle`.
    """
    abi = request.abi
    inputs, images = for_openmp(request.images, request.files, force=request.force)
    chosen = _sized(_chosen(request.entries, images, None) or [], abi)
    # Objects with entries by clang register their own requirements.
    says_requires = bool(chosen)
    wrapper = build(inputs, chosen, abi, machine, alone=True, says_requires=says_requires)

    def as_text(file: BinaryIO) -> None:
        if form == "asm":
            write_assembly(file, wrapper, machine.code, request.copied)
        else:
            write_ir(
                file, inputs, chosen, abi, machine,
                says_requires=says_requires, copied=request.copied,
            )  # fmt: skip

    host, text = blank_host(machine), None if form == "object" else as_text
    return _write(out, host, wrapper, request, own_formats(images), text)


def _host_entries(
    host: HostObject, images: Sequence[DeviceImage], source: EntrySource, abi: WrittenAbi
) -> list[EntryInput] | None:
    has_own = _has_entries(host, abi)
    if source == "host":
        if not has_own:
            raise UsageError(f"has no {abi.entries_section} section; {_where_entries(host, abi)}")
        return None
    if has_own:
        raise UsageError(f"has an {abi.entries_section} section of its own; leave --entries out")
    chosen = _chosen(source, images, host)
    return None if chosen is None else _sized(chosen, abi)


def _has_entries(host: HostObject, abi: WrittenAbi) -> bool:
    own = host.section(abi.entries_section)
    return own is not None and host.section_size(own) > 0


def _where_entries(host: HostObject, abi: WrittenAbi) -> str:
    """Return a hint for a host without entries."""
    for other in WRITTEN.values():
        if _has_entries(host, other):
            name = "llvm" if other.is_llvm else other.name
            hosts = "compiled by clang" if other.is_llvm else other.hosts
            return f"it is {hosts}: use --abi {name}"
    return f"{abi.remedy}, or --entries"


def _sized(entries: list[EntryInput], abi: WrittenAbi) -> list[EntryInput]:
    """Return the entries. Raises UsageError if a size does not fit the ABI's records."""
    largest = (1 << (8 * Struct(f"<{abi.entry.size_format}").size - 1)) - 1
    for entry in entries:
        if entry.size > largest:
            raise UsageError(
                f"entry {entry.name} has {entry.size} bytes; a size in the {abi.name} ABI is an int"
            )
    return entries


def _chosen(
    source: EntrySource, images: Sequence[DeviceImage], host: HostObject | None
) -> list[EntryInput] | None:
    symbols = host.symbol_table() if host else None
    if source == "host":
        return None
    if source == "auto":
        return shared_entries(images, symbols)
    return listed_entries(source, images, symbols)


def _write(
    out: Path,
    host: HostObject,
    wrapper: Wrapper,
    request: WrapRequest,
    own: Collection[tuple[str, int]],
    as_text: Callable[[BinaryIO], None] | None = None,
) -> list[Finding]:
    """Write the result beside `out`, check it, and rename it if it is sound.

    A text is checked as the object that it stands for.
    """
    with replacing(out) as temporary:
        # "r+b" because the file is empty, and ext4 writes a truncated file back before close
        # returns.
        with temporary.open("r+b") as file:
            kept = {request.abi.entries_section}
            copied = ignore if as_text else request.copied
            write_object(file, host, wrapper.sections, wrapper.symbols, kept, copied)
        is_wrapped = request.abi.is_wrapped
        findings = checked(temporary, force=request.force, is_wrapped=is_wrapped, own=own)
        if as_text:
            with temporary.open("w+b") as file:
                as_text(file)
        return findings
