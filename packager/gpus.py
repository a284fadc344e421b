# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decide which GPUs run which code, by the names of processors alone.

CUDA's rules are in its Programming Guide, "Binary Compatibility" and "PTX Compatibility"; AMD's
families in LLVM's AMDGPUUsage, "Generic processors".
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from packager.patterns import pattern
from packager.records import NamedTuple

# A GPU runs code natively, or the driver compiles it; None means neither.
How = Literal["natively", "by JIT"]


class Generation(NamedTuple):
    """GPUs that are sold under one name of an architecture."""

    vendor: Literal["NVIDIA", "AMD"]
    name: str
    gpus: tuple[str, ...]  # "sm_80"


_NVIDIA = {
    "Kepler": (35, 37), "Maxwell": (50, 52, 53), "Pascal": (60, 61, 62), "Volta": (70, 72),
    "Turing": (75,), "Ampere": (80, 86, 87, 88), "Ada": (89,), "Hopper": (90,),
    "Blackwell": (100, 103, 107, 110, 120, 121),
}  # fmt: skip
_AMD = {
    "GCN 5": ("900", "906"), "CDNA": ("908",), "CDNA 2": ("90a",), "CDNA 3": ("942",),
    "CDNA 4": ("950",), "RDNA": ("1010", "1011", "1012", "1013"),
    "RDNA 2": ("1030", "1031", "1032", "1033", "1034", "1035", "1036"),
    "RDNA 3": ("1100", "1101", "1102", "1103"),
    "RDNA 3.5": ("1150", "1151", "1152", "1153", "1154"), "RDNA 4m": ("1170", "1171", "1172"),
    "RDNA 4": ("1200", "1201"), "GFX12.5": ("1250", "1251"), "GFX13": ("1310",),
}  # fmt: skip
GENERATIONS: tuple[Generation, ...] = (
    *(Generation("NVIDIA", name, tuple(f"sm_{n}" for n in sms)) for name, sms in _NVIDIA.items()),
    *(Generation("AMD", name, tuple(f"gfx{n}" for n in gfxs)) for name, gfxs in _AMD.items()),
)
_SM = pattern(r"(?:sm|compute)_(\d+)(\d)([af]?)")
# Processors of a family, all of which run code for the family.
_FAMILIES = {
    "gfx9-generic": r"gfx90[02469c]",
    "gfx9-4-generic": r"gfx9(4[0-2]|50)",
    "gfx10-1-generic": r"gfx101[0-3]",
    "gfx10-3-generic": r"gfx103[0-6]",
    "gfx11-generic": r"gfx11(0[0-3]|5[0-4])",
    "gfx11-7-generic": r"gfx117[0-2]",
    "gfx12-generic": r"gfx120[01]",
    "gfx12-5-generic": r"gfx125[01]",
    "gfx13-generic": r"gfx1310",
}
_LISTED = frozenset(gpu for generation in GENERATIONS for gpu in generation.gpus)


def unlisted(arch: str) -> str | None:
    """Return the GPU that code for `arch` is for, if no generation lists it."""
    name = arch.split(":", maxsplit=1)[0]
    found = _SM.fullmatch(name)
    gpu = f"sm_{found[1]}{found[2]}" if found else name
    return None if not gpu or gpu in _LISTED or gpu in _FAMILIES else gpu


@lru_cache(maxsize=1 << 10)  # large libraries have ten thousand images for a few names
def on_nvidia(arch: str, gpu: str, *, is_ptx: bool) -> How | None:
    """Return how a GPU runs a cubin, or PTX, for `arch`; None: it does not.

    A cubin runs on GPUs of its major number and no lower minor one, PTX is compiled for all that
    came later. Code for an architecture's own features ("a") runs on that one alone, code for a
    family's ("f") in the family.
    """
    wanted, there = _SM.fullmatch(arch), _SM.fullmatch(gpu)
    if not wanted or not there:
        return None
    major, minor, special = int(wanted[1]), int(wanted[2]), wanted[3]
    own_major, own_minor = int(there[1]), int(there[2])
    how: How = "by JIT" if is_ptx else "natively"
    if special == "a":
        return how if (major, minor) == (own_major, own_minor) else None
    if major == own_major:
        return how if minor <= own_minor else None
    return how if is_ptx and special != "f" and major < own_major else None


def on_amd(arch: str, gpu: str) -> bool:
    """Return whether a GPU runs a code object for `arch`.

    A setting (xnack+) counts where both name it: a GPU without any may have each.
    """
    name, *settings = arch.split(":")
    there, *its_own = gpu.split(":")
    if any(_opposite(setting) in its_own for setting in settings):
        return False
    family = _FAMILIES.get(name)
    return name == there or (family is not None and re.fullmatch(family, there) is not None)


def is_generic(arch: str) -> bool:
    """Return whether code for `arch` is for a family of AMD's processors."""
    return arch.split(":", maxsplit=1)[0] in _FAMILIES


def _opposite(setting: str) -> str:
    return setting[:-1] + {"+": "-", "-": "+"}.get(setting[-1:], "")


def known_gpus() -> tuple[str, ...]:
    """Return the names of all listed GPUs, then of AMD's families."""
    return (*(gpu for one in GENERATIONS for gpu in one.gpus), *_FAMILIES)
