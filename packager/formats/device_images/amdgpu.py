# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The e_flags of an AMD code object (LLVM's AMDGPUUsage, "ELF header")."""

from __future__ import annotations

from packager.model import UNKNOWN_PROCESSOR

ARCH_MASK = 0xFF
# EF_AMDGPU_MACH values of processors that clang's OpenMP supports.
ARCHES = {
    0x20: "gfx600", 0x21: "gfx601", 0x3A: "gfx602", 0x22: "gfx700", 0x23: "gfx701",
    0x24: "gfx702", 0x25: "gfx703", 0x26: "gfx704", 0x3B: "gfx705", 0x28: "gfx801",
    0x29: "gfx802", 0x2A: "gfx803", 0x3C: "gfx805", 0x2B: "gfx810", 0x2C: "gfx900",
    0x2D: "gfx902", 0x2E: "gfx904", 0x2F: "gfx906", 0x30: "gfx908", 0x31: "gfx909",
    0x32: "gfx90c", 0x3F: "gfx90a", 0x40: "gfx940", 0x4B: "gfx941", 0x4C: "gfx942",
    0x4F: "gfx950", 0x33: "gfx1010", 0x34: "gfx1011", 0x35: "gfx1012", 0x42: "gfx1013",
    0x36: "gfx1030", 0x37: "gfx1031", 0x38: "gfx1032", 0x39: "gfx1033", 0x3E: "gfx1034",
    0x3D: "gfx1035", 0x45: "gfx1036", 0x41: "gfx1100", 0x46: "gfx1101", 0x47: "gfx1102",
    0x44: "gfx1103", 0x43: "gfx1150", 0x4A: "gfx1151", 0x55: "gfx1152", 0x58: "gfx1153",
    0x48: "gfx1200", 0x4E: "gfx1201", 0x49: "gfx1250", 0x5A: "gfx1251", 0x51: "gfx9-generic",
    0x52: "gfx10-1-generic", 0x53: "gfx10-3-generic", 0x54: "gfx11-generic",
    0x59: "gfx12-generic", 0x5F: "gfx9-4-generic", 0x50: "gfx1310", 0x57: "gfx1154",
    0x5B: "gfx12-5-generic", 0x5C: "gfx1172", 0x5D: "gfx1170", 0x5E: "gfx1171",
    0x62: "gfx11-7-generic", 0x63: "gfx13-generic", 0xEB: "gfx1250-strict",
}  # fmt: skip
# Features since code object V4: (mask, off, on); "any" and "unsupported" are not shown.
FEATURES = {"sramecc": (0xC00, 0x800, 0xC00), "xnack": (0x300, 0x200, 0x300)}
FIRST_ABI_WITH_FEATURES = 2  # EI_ABIVERSION of V4


def arch(flags: int, abi_version: int) -> str | None:
    """Return the target id, e.g. "gfx90a:xnack+"; None if the flags name no processor."""
    number = flags & ARCH_MASK
    name = ARCHES.get(number)
    if name is None:
        return f"{UNKNOWN_PROCESSOR} {number:#x}" if number else None
    if abi_version < FIRST_ABI_WITH_FEATURES:
        return name
    for feature, (mask, off, on) in FEATURES.items():
        state = flags & mask
        name += f":{feature}-" if state == off else f":{feature}+" if state == on else ""
    return name
