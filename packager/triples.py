# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Target triples, normalised as LLVM does for the spellings that offload tools use."""

from __future__ import annotations

import re
from collections.abc import Sequence

from packager.errors import UsageError
from packager.patterns import pattern

# Architectures that no host has.
GPUS = ("nvptx64", "nvptx", "amdgcn", "spirv64", "spirv", "spir64", "spir", "intelgt")
CPUS = (
    *("x86_64", "i386", "i486", "i586", "i686", "aarch64", "arm", "armv7", "powerpc64le"),
    *("ppc64le", "powerpc64", "ppc64", "riscv64", "loongarch64", "s390x", "mips64", "ve"),
    *("wasm32", "wasm64"),
)
# Architectures with a suffix: SYCL's spir64_gen and spir64_x86_64, spirv64v1.2, armv7a, mips64el,
# aarch64_be.
_VARIANT = pattern(
    r"spir(?:v?(?:32|64)?)(?:_\w+|v[\d.]+)?|native_cpu|(?:arm|thumb)(?:v\w+)?(?:eb)?"
    r"|aarch64_\w+|mips(?:isa\w+)?(?:32|64)?(?:r6)?(?:el)?|i[3-9]86|x86_64h|s390|systemz"
    r"|(?:ppc|powerpc|riscv)(?:32|64)?(?:le|be)?|loongarch(?:32|64)|sparc(?:v9|64|el)?|amdil64|r600"
)
_ARCHES = {"amd64": "x86_64", "arm64": "aarch64"}
_VENDORS = {"pc", "nvidia", "amd", "apple", "intel", "ibm", "suse"}
_SYSTEMS = ("linux", "cuda", "amdhsa", "nvcl", "darwin", "macosx", "freebsd", "windows", "none")
_ENVIRONMENTS = ("gnu", "musl", "android", "eabi", "msvc", "elf")
# Default vendor, system and environment of an architecture. (pc, linux, gnu) is the spelling of
# Debian's and Ubuntu's clang for x86_64; the vendor does not affect the code.
_DEFAULTS = {
    "x86_64": ("pc", "linux", "gnu"),
    "aarch64": ("unknown", "linux", "gnu"),
    "nvptx64": ("nvidia", "cuda", ""),
    "nvptx": ("nvidia", "cuda", ""),
    "amdgcn": ("amd", "amdhsa", ""),
}
_NO_DEFAULTS = ("unknown", "unknown", "")
_HOSTED = ("gnu", "musl", "android")
# Wrong names of triples, with the right spelling.
_OF_NVIDIA = "nvptx64:ARCH, such as nvptx64:sm_80"
_OF_AMD = "amdgcn:ARCH, such as amdgcn:gfx90a"
SPELLED = {
    **dict.fromkeys(("cuda", "nvidia", "nvptx", "ptx", "gpu"), _OF_NVIDIA),
    **dict.fromkeys(("hip", "rocm", "amd"), _OF_AMD),
    **dict.fromkeys(("opencl", "spirv", "intel"), "spirv64"),
    **dict.fromkeys(("x86-64", "x86", "x64"), "x86_64"),
    "arm": "aarch64",
}
# LLVM's names of AMD's GPUs after 22: all of them, a family (amdgpu9), or one (amdgpu9.0a).
_AMDGPU = pattern(r"amdgpu(?:(?P<major>[0-9]+)(?:\.(?P<rest>[0-9a-f]*))?)?")
_OF_ONE = 2  # digits behind the dot


def normalise(triple: str) -> str:
    """Return `triple` with its parts in order and the usual omissions filled in.

    "x86_64-linux-gnu", "amd64-unknown-linux" and "x86_64" give "x86_64-pc-linux-gnu"; "nvptx64" and
    "nvptx64-nvidia-cuda-unknown" give "nvptx64-nvidia-cuda". Unknown parts keep their place. Raises
    UsageError for a text that is no triple.
    """
    if not triple or not triple.isprintable() or any(sign in triple for sign in " /=:,"):
        raise UsageError(f"{triple!r} is not a target triple")
    arch, *rest = triple.split("-")
    arch = _ARCHES.get(arch.lower(), arch.lower())
    vendor, system, environment = _slots(rest)
    defaults = _DEFAULTS.get("amdgcn" if _AMDGPU.fullmatch(arch) else arch, _NO_DEFAULTS)
    default_vendor, default_system, default_environment = defaults
    if environment and not environment.startswith(_HOSTED):
        default_system = "unknown"  # "x86_64-elf" has no system
    if system in (default_system, ""):
        environment = environment or default_environment
    parts = (arch, vendor or default_vendor, system or default_system, environment)
    return "-".join(part for part in parts if part)


def code_of(triple: str) -> str:
    """Return the architecture of a triple's code, by the name that all LLVM releases know."""
    first = triple.split("-", maxsplit=1)[0]
    return "amdgcn" if _AMDGPU.fullmatch(first) else first


def processor_in(triple: str) -> str:
    """Return the processor that a triple itself names, as amdgpu9.0a names gfx90a; "" for none."""
    found = _AMDGPU.fullmatch(triple.split("-", maxsplit=1)[0])
    is_one = found is not None and len(found["rest"] or "") == _OF_ONE
    return f"gfx{found['major']}{found['rest']}" if found and is_one else ""


def is_known(triple: str) -> bool:
    """Return whether omptool supports the code of a triple; for others, only a plugin can."""
    code = code_of(triple)
    return code in (*CPUS, *GPUS) or bool(_VARIANT.fullmatch(code))


def likely_meant(triple: str) -> str | None:
    """Return the triple that a misspelt one probably means; None if it is not misspelt.

    The result includes the architecture if `triple` does, as the names of bundles do.
    """
    named = re.sub("(-unknown)+$", "", triple)
    if named in SPELLED and not is_known(triple):
        return SPELLED[named]
    first, *rest = triple.split("-")
    if rest and re.fullmatch(r"(sm_|gfx)[0-9a-f]+", rest[-1]):
        return f"{triple.removesuffix('-' + rest[-1])}:{rest[-1]}"
    parts = [first if is_known(triple) else _near(first, (*CPUS, *GPUS))]
    words = (*_VENDORS, *_SYSTEMS, *_ENVIRONMENTS)
    parts += [part if _known_slot(part) is not None else _near(part, words) for part in rest]
    meant = "-".join(parts)
    return meant if meant != triple else None


def _near(part: str, words: Sequence[str]) -> str:
    """Return the known word that is a letter or two away from `part`, else `part`."""
    if part == "unknown" or part in words:
        return part
    from difflib import get_close_matches

    return next(iter(get_close_matches(part, words, n=1, cutoff=0.8)), part)


def is_meant(named: str, triple: str) -> bool:
    """Return whether a named triple includes another; amdgcn and amdgpu include all of AMD's."""
    if named == triple:
        return True
    first, _, rest = named.partition("-")
    return first in ("amdgcn", "amdgpu") and (
        code_of(triple) == "amdgcn" and triple.partition("-")[2] == rest
    )


def _slots(parts: list[str]) -> tuple[str, str, str]:
    """Return vendor, system and environment; "" for a missing or "unknown" one.

    As in llvm::Triple::normalize, a part that is known for a slot goes there, and the others fill
    the remaining slots in order.
    """
    slots: list[str | None] = [None, None, None]
    others = []
    for part in parts:
        known = _known_slot(part.lower())
        if known is not None and slots[known] is None:
            slots[known] = part.lower()
        else:
            others.append(part)
    for index in range(len(slots)):
        if slots[index] is None and others:
            slots[index] = others.pop(0)
    vendor, system, environment = (_said(slot) for slot in slots)
    return vendor, system, "-".join(part for part in (environment, *others) if part)


def is_spirv_of_openmp(triple: str) -> bool:
    """Return whether clang's OpenMP code for Intel's and OpenCL's devices has this triple."""
    arch, _, rest = triple.partition("-")
    return arch == "spirv64" and rest.startswith("intel")


def _known_slot(part: str) -> int | None:
    if part in _VENDORS:
        return 0
    if part.startswith(_SYSTEMS):
        return 1
    return 2 if part.startswith(_ENVIRONMENTS) else None


def _said(part: str | None) -> str:
    return "" if part in (None, "unknown") else str(part)
