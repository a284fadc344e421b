"""What kernels need, as far as GPU images say: CUDA's `.nv.info`, AMD's kernel descriptors.

The attributes of `.nv.info` are not documented; they were read off ptxas' output beside its -v.
AMD's descriptor is in LLVM's AMDGPUUsage, "Kernel Descriptor".
"""

from __future__ import annotations

from struct import Struct

from packager.elf.address_space import Space
from packager.elf.headers import Elf, Section
from packager.errors import FormatError
from packager.model import Resources

# Format, attribute, and of format 4 (a sized value) the size; values that matter are a symbol's
# index and a number.
ATTRIBUTE = Struct("<BBH")
VALUE = Struct("<II")
SIZED = 4
REGISTERS, FRAME, STACK = 0x2F, 0x11, 0x12
INFO, SHARED_PREFIX = ".nv.info", ".nv.shared."
# group and private segment, …, compute_pgm_rsrc3, 1, 2
DESCRIPTOR = Struct("<II40xI12x")
VGPRS = 0x3F  # of compute_pgm_rsrc1, in granules
GRANULE_OF_8 = ("gfx90a", "gfx94", "gfx950", "gfx10", "gfx11", "gfx12")


def of_cubin(elf: Elf) -> dict[str, Resources]:
    """Registers, shared memory and stack of each kernel of a cubin, as far as it says them."""
    registers: dict[int, int] = {}
    stack: dict[int, int] = {}
    for section in elf.sections:
        if section.name == INFO or section.name.startswith(f"{INFO}."):
            _attributes(elf, section, registers, stack)
    names = _symbol_names(elf, {*registers, *stack})
    shared = {
        section.name.removeprefix(SHARED_PREFIX): section.size
        for section in elf.sections
        if section.name.startswith(SHARED_PREFIX)
    }
    return {
        name: Resources(registers.get(index), shared.get(name, 0), stack.get(index))
        for index, name in names.items()
    }


def _attributes(
    elf: Elf, section: Section, registers: dict[int, int], stack: dict[int, int]
) -> None:
    data = elf.content(section)
    at = 0
    while at + ATTRIBUTE.size <= len(data):
        form, attribute, size = data.unpack(ATTRIBUTE, at, section.name)
        at += ATTRIBUTE.size
        if form != SIZED:
            continue
        if attribute in (REGISTERS, FRAME, STACK) and size >= VALUE.size:
            symbol, number = data.unpack(VALUE, at, section.name)
            kept = registers if attribute == REGISTERS else stack
            kept[symbol] = max(number, kept.get(symbol, 0))
        at += size


def _symbol_names(elf: Elf, wanted: set[int]) -> dict[int, str]:
    for table in elf.symbol_tables()[:1]:
        names = elf.strings(table.link, f"names of {table.name}")
        return {
            number: names[symbol.name_at]
            for number, symbol in enumerate(elf.symbols(table))
            if number in wanted and symbol.name_at
        }
    return {}


def of_amdgcn(space: Space, arch: str, descriptors: dict[str, int]) -> dict[str, Resources]:
    """The same of a code object; `descriptors` are the addresses of `<kernel>.kd`, by kernel."""
    granule = 8 if arch.startswith(GRANULE_OF_8) else 4
    found = {}
    for name, address in descriptors.items():
        offset = space.offset(address, DESCRIPTOR.size)
        if offset is None:
            raise FormatError(f"descriptor of kernel {name} is not in the file")
        group, private, rsrc1 = space.elf.data.unpack(DESCRIPTOR, offset, f"descriptor of {name}")
        found[name] = Resources(((rsrc1 & VGPRS) + 1) * granule, group, private)
    return found
