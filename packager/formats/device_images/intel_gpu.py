# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Read native code for Intel's GPUs ("zebin"): ELF with `.ze_info` and device notes.

`.ze_info` is YAML that lists the kernels; notes name the device. The format is in
intel/compute-runtime and intel-graphics-compiler.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct

from packager.elf import headers
from packager.elf.headers import Elf
from packager.errors import FormatError
from packager.files.names import text
from packager.files.reader import Reader
from packager.model import Contents, DeviceSymbol, Resources
from packager.patterns import pattern

MACHINE = "intelgt"
INFO, COMPATIBILITY = ".ze_info", ".note.intelgt.compat"
MAX_INFO = 1 << 26
NOTE = Struct("<III")  # size of the owner's name, of the description, type
PRODUCT = Struct("<I")  # major from bit 22, minor 8 bits from bit 14, revision 6 bits
PRODUCT_CONFIG = 6  # the type of the note that holds it
ALIGNMENT = 4
_LIST = pattern(r"^(\w+):\s*$")
_NAME = pattern(r"^  - name:\s+['\"]?([^'\"]+?)['\"]?\s*$")
_NUMBER = pattern(r"^ +(grf_count|slm_size|private_size|spill_size):\s+(\d+)\s*$")


def probe(data: Reader) -> bool:
    """Return whether `data` is ELF code for Intel's GPUs."""
    if not headers.probe(data) or len(data) < headers.HEADER.size:
        return False
    machine = data.unpack(headers.HEADER, 0, "ELF header")[2]
    return headers.MACHINES.get(machine) == MACHINE


def inspect(data: Reader) -> Contents:
    """Return the device and the kernels; a damaged image has a `problem`."""
    known = Contents("zebin", MACHINE, is_opaque=True)
    try:
        elf = headers.read(data)
        if elf.end() > len(data):
            raise FormatError(f"is truncated: its headers span {elf.end()} bytes, not {len(data)}")
        kernels = tuple(_kernels(_info(elf)))
        return Contents("zebin", MACHINE, _device(elf), kernels)
    except FormatError as error:
        return Contents(known.kind, MACHINE, is_opaque=True, problem=str(error))


def _info(elf: Elf) -> str:
    """Return the list of kernels; "" for code without one, which has only variables."""
    sections = list(elf.named(INFO))
    if not sections:
        return ""
    data = elf.content(sections[0])
    if len(data) > MAX_INFO:
        raise FormatError(f"{INFO} of {len(data)} bytes is too large to be real")
    return data.bytes().decode("utf-8", "replace")


def _kernels(info: str) -> Iterator[DeviceSymbol]:
    """Yield the listed kernels, each with the numbers that follow its name."""
    name, numbers, is_kernels = "", dict[str, int](), False
    for line in info.split("\n"):
        if found := _LIST.match(line):
            if name:
                yield _kernel(name, numbers)
            name, is_kernels = "", found[1] == "kernels"
        elif is_kernels and (found := _NAME.match(line)):
            if name:
                yield _kernel(name, numbers)
            name, numbers = text(found[1].encode()), {}
        elif name and (found := _NUMBER.match(line)):
            numbers[found[1]] = int(found[2][:18])
    if name:
        yield _kernel(name, numbers)


def _kernel(name: str, numbers: dict[str, int]) -> DeviceSymbol:
    stack = numbers.get("private_size", 0) + numbers.get("spill_size", 0)
    needs = Resources(numbers.get("grf_count"), numbers.get("slm_size", 0), stack)
    return DeviceSymbol(name, "kernel", 0, "kernel", resources=needs)


def _device(elf: Elf) -> str | None:
    """Return the device as ocloc's -device option writes it, "12.60.7"; None if no note has it."""
    for section in elf.named(COMPATIBILITY):
        data = elf.content(section)
        at = 0
        while at + NOTE.size <= len(data):
            owner, size, kind = data.unpack(NOTE, at, section.name)
            at += NOTE.size + _aligned(owner)
            if kind == PRODUCT_CONFIG and size == PRODUCT.size:
                (config,) = data.unpack(PRODUCT, at, section.name)
                return f"{config >> 22}.{config >> 14 & 0xFF}.{config & 0x3F}"
            at += _aligned(size)
    return None


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
