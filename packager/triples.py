"""Target triples, normalised as LLVM does for the spellings that offload tools use."""

from __future__ import annotations

from packager.errors import UsageError

_ARCHES = {"amd64": "x86_64", "x86-64": "x86_64", "arm64": "aarch64"}
_VENDORS = {"pc", "unknown", "nvidia", "amd", "apple", "intel", "ibm", "suse"}
_SYSTEMS = ("linux", "cuda", "amdhsa", "darwin", "macosx", "freebsd", "none", "windows", "elf", "unknown")
_DEFAULTS = {
    "x86_64": ("pc", "linux", "gnu"),
    "aarch64": ("unknown", "linux", "gnu"),
    "nvptx64": ("nvidia", "cuda", ""),
    "nvptx": ("nvidia", "cuda", ""),
    "amdgcn": ("amd", "amdhsa", ""),
}


def normalise(triple: str) -> str:
    """`triple` with its parts in order and the usual omissions filled in.

    "x86_64-linux-gnu" and "x86_64" give "x86_64-pc-linux-gnu", "nvptx64" gives
    "nvptx64-nvidia-cuda". Unknown parts are kept. Raises UsageError for an empty triple.
    """
    if not triple or not all(part.isprintable() and " " not in part for part in triple):
        raise UsageError(f"{triple!r} is not a target triple")
    arch, *rest = triple.split("-")
    arch = _ARCHES.get(arch, arch)
    vendor, system, environment = _DEFAULTS.get(arch, ("unknown", "unknown", ""))
    if rest and rest[0] in _VENDORS and not (len(rest) == 1 and rest[0] == "unknown"):
        vendor = vendor if rest[0] == "unknown" else rest[0]
        rest = rest[1:]
    if rest and rest[0].startswith(_SYSTEMS):
        system, rest = (system if rest[0] == "unknown" else rest[0]), rest[1:]
    if rest:
        environment = "-".join(part for part in rest if part)
    return "-".join(part for part in (arch, vendor, system, environment) if part)
