# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kept devices, from the names of architectures or a list of devices."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from packager.errors import PackagerError, UsageError
from packager.files.reader import open_reader
from packager.formats.device_images.amdgpu import ARCHES, FEATURES
from packager.gpus import known_gpus
from packager.patterns import pattern
from packager.records import NamedTuple
from packager.triples import CPUS

NVIDIA, AMD, INTEL, SPIRV = "nvptx64", "amdgcn", "intelgt", "spir64"
MAX_LIST = 1 << 24  # bytes of a list of devices
# NVIDIA's GPUs in no generation: too old ones, and sm_110's name before CUDA 13.
OTHER_SMS = ("sm_20", "sm_21", "sm_30", "sm_32", "sm_101")
_SM = pattern(r"(sm_\d{2,3})([af]?)")
FIRST_WITH_VARIANTS = 90  # sm_90a
_SPIRV = pattern(r"spirv?(?:32|64)?(?:_\w+|v[\d.]+)?|spir-v(?: [\d.]+)?", re.IGNORECASE)
INTEL_DEVICE = pattern(r"\d+\.\d+\.\d+")  # form of ocloc's -device
_CPUS = {"x86-64": "x86_64", "x64": "x86_64", "amd64": "x86_64", "arm64": "aarch64"}


# Names of processors that the rules parse; older tools wrote settings as in gfx906+xnack.
_PROCESSORS = {
    NVIDIA: pattern(r"sm_\d+[af]?"),
    AMD: pattern(r"gfx[0-9a-f]+(?:-[\d-]*generic)?(?::\w+[+-])*"),
}


class Kept(NamedTuple):
    """A device whose code is kept."""

    name: str  # sm_90a, gfx90a:xnack-, 12.60.7, x86_64
    code: str  # code of its images: nvptx64, amdgcn, intelgt, spir64, or the name of a CPU


def is_processor(code: str, arch: str) -> bool:
    """Return whether the rules know the form of an architecture's name."""
    form = _PROCESSORS.get(code)
    return form is None or form.fullmatch(arch) is not None


def named(words: Iterable[str]) -> tuple[Kept, ...]:
    """Return the devices of names, which may be lists with commas. Raises UsageError."""
    names = (name.strip() for word in words for name in word.split(","))
    found = tuple(dict.fromkeys(_named(name) for name in names if name))
    if not found:
        raise UsageError("no architecture is named whose code stays")
    return found


def _named(name: str) -> Kept:
    kept = known(name)
    if kept is None:
        raise UsageError(f"no architecture has the name {name!r}; known names: {_known_names()}")
    return kept


def known(name: str) -> Kept | None:
    """Return the device of a name; None for an unknown name."""
    if found := _SM.fullmatch(name):
        is_variant = bool(found[2]) and int(found[1][3:]) < FIRST_WITH_VARIANTS
        return Kept(name, NVIDIA) if found[1] in _gpus() and not is_variant else None
    if name.startswith("gfx"):
        processor, *settings = name.split(":")
        are_known = all(one[:-1] in FEATURES and one[-1] in "+-" for one in settings if one)
        is_sound = (
            are_known and all(settings) and len({one[:-1] for one in settings}) == len(settings)
        )
        return Kept(name, AMD) if processor in _gpus() and is_sound else None
    if _SPIRV.fullmatch(name):
        return Kept(name, SPIRV)
    if INTEL_DEVICE.fullmatch(name):
        return Kept(name, INTEL)
    cpu = _CPUS.get(name.lower(), name)
    return Kept(cpu, cpu) if cpu in CPUS else None


def _gpus() -> frozenset[str]:
    return frozenset((*known_gpus(), *ARCHES.values(), *OTHER_SMS))


def _known_names() -> str:
    gpus = [gpu for gpu in known_gpus() if not gpu.endswith("-generic")]
    families = [gpu for gpu in known_gpus() if gpu.endswith("-generic")]
    return ", ".join((*gpus, *families, "spir64", "12.60.7 (Intel's)", *CPUS))


def of_list(path: Path, number: int | None = None) -> tuple[Kept, ...]:
    """Return the devices in a file that `omptool devices --json` wrote, or that of a number.

    Raises UsageError for any other file, and for one that cannot be read.
    """
    try:
        with open_reader(path) as data:
            size = len(data)
            content = data.bytes() if size <= MAX_LIST else b""
    except (PackagerError, OSError) as error:
        raise UsageError(str(error), path) from error
    if size > MAX_LIST:
        raise UsageError(f"it has {size} bytes, and is no list of devices", path)
    import json  # slow to load, and unused for architectures

    try:
        document = json.loads(content)
        plugins = document["plugins"]
        rows = [dict(row) for plugin in plugins for row in plugin["devices"]]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        message = "it is not the output of `omptool devices --json`"
        raise UsageError(message, path) from error
    return of_devices(rows, number, str(path))


def of_devices(
    rows: Sequence[Mapping[str, Any]], number: int | None, where: str
) -> tuple[Kept, ...]:
    """Return the devices in rows of `omptool devices --json`, all or the one with a number.

    `where` names the owner of the devices. Raises UsageError for an unknown number, and for a
    device without an architecture.
    """
    wanted = [row for row in rows if number is None or row.get("number") == number]
    if not wanted:
        numbers = ", ".join(str(row.get("number")) for row in rows) or "none"
        what = "no device" if number is None else f"no device {number}"
        raise UsageError(f"{where} has {what}; its devices: {numbers}")
    return tuple(dict.fromkeys(kept for row in wanted for kept in _of_device(row, where)))


def _of_device(row: Mapping[str, Any], where: str) -> Iterator[Kept]:
    architecture = row.get("architecture")
    kept = known(architecture) if isinstance(architecture, str) else None
    if kept is None and isinstance(architecture, str) and _SM.fullmatch(architecture):
        kept = Kept(architecture, NVIDIA)  # a device that came after this omptool
    if kept is None:
        said = f"the architecture {architecture!r}" if architecture else "no architecture"
        message = f"device {row.get('number')} of {where} has {said}, which omptool does not know"
        raise UsageError(f"{message}; name one: {_known_names()}")
    yield kept
