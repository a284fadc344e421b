# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Check that containers could be read whole, and that images are what containers declare."""

from __future__ import annotations

from collections.abc import Iterator

from packager.model import (
    NO_ARCH,
    UNKNOWN_PROCESSOR,
    DeviceImage,
    FatBinary,
    Finding,
    Severity,
)
from packager.patterns import pattern
from packager.records import NamedTuple
from packager.triples import GPUS, code_of, processor_in

# Architecture of a triple to the machine's name in packager.elf.
MACHINES = {
    "x86_64": "x86_64",
    "aarch64": "aarch64",
    "nvptx64": "nvptx64",
    "nvptx": "nvptx",
    "amdgcn": "amdgcn",
    "powerpc64le": "ppc64le",
    "ppc64le": "ppc64le",
    "riscv64": "riscv64",
    "loongarch64": "loongarch64",
    "spirv64": "spirv64",
}
# Kinds of the bytes that are right for a declared kind. Containers call every ELF image an object,
# and clang calls a file in ".o" one, e.g. its SPIR-V for Intel's GPUs.
KINDS = {"elf": ("elf", "cubin", "amdgcn")}
OF_CLANG = ("spirv64", "elf", "spirv")  # code of the triple, declared kind, kind
_SM = pattern(r"sm_(\d+)")
SHARED = "an image for a CPU is a shared object: link it with -shared, or use `omptool lower`"
UNKNOWN = "rebuild it, or install the plugin that takes it: `omptool devices` lists plugins"
COPIED_AGAIN = "build or copy the file again; `omptool dump` shows what is left"
HINT = "give the image the triple and arch that it was compiled for"


def mislabelled(binary: FatBinary) -> Iterator[Finding]:
    """An image whose bytes are not what its container declares.

    The runtime chooses images by their bytes; tools and linkers choose by the declared triple, arch
    and kind. An image with the wrong label is not loaded, loaded for the wrong device, or rejected
    with an error that names neither. This check also reports an image that is empty or cut off, and
    one of unknown format unless a plugin on this machine accepts it, since plugins may interpret
    images freely. It also reports an image for a CPU that is not a shared object: no plugin can
    load an executable or a relocatable object.

    Cure: name the triple and arch that the image was compiled for when bundling; `omptool dump`
    shows the bytes' own. Copy a truncated file again. Link an image for a CPU with -shared, or let
    `omptool lower` make it.
    """
    for image in binary.images:
        for message, hint, severity in (*_faults(image), *_form(image, binary)):
            what = f"image {image.index} {message}"
            yield Finding("OMP110", severity, what, hint, None, image.index)


def for_another_cpu(binary: FatBinary) -> Iterator[Finding]:
    """Every image is for the CPU of another machine.

    The runtime's plugin for the CPU takes images for the machine that it runs on. With an image for
    aarch64 alone, every region of a program for x86_64 runs on the host, unless a plugin of the
    user's own takes such images.

    Cure: name the host's triple in -fopenmp-targets= as well, or add an image for it by `omptool
    edit --add`.
    """
    if binary.type == "object" or binary.machine is None:
        return  # a link adds images to an object
    machines = {_cpu(image) for image in binary.images}
    if machines and None not in machines and not machines & {binary.machine, *GPUS}:
        words = " and ".join(sorted(filter(None, machines)))
        message = f"every image is for {words}, and the program for {binary.machine}: "
        message += "without a plugin for such images every region runs on the host"
        hint = f"add an image for {binary.machine}: give its triple to -fopenmp-targets="
        yield Finding("OMP135", "warning", message, hint)


def miscompiled(binary: FatBinary) -> Iterator[Finding]:
    """Clang 22 has compiled wrong code for spirv64-intel.

    From -O1 on, clang 22's optimisations of OpenMP take pointers to any memory for pointers to
    constants there, and drop the stores of functions that regions call: regions run, and their
    results are lost. Clang 23 and later do not. The finding is about bitcode without the mark of
    `omptool cc`, and about SPIR-V that is not linked yet.

    Cure: compile with `omptool cc`, which turns these optimisations off for this target, with
    -Xopenmp-target=spirv64-intel -mllvm=-openmp-opt-disable, or with clang 23.
    """
    for image in binary.images:
        if image.contents.is_miscompiled:
            message = f"image {image.index} ({image.target}) is compiled by clang 22, which drops "
            message += "stores of functions that regions call"
            hint = "compile with omptool cc, or clang 23"
            yield Finding("OMP136", "warning", message, hint, None, image.index)


def _cpu(image: DeviceImage) -> str | None:
    """Return the machine of an image if its triple names the same one, else None."""
    machine = image.contents.machine if image.kind == "elf" else None
    return machine if machine == MACHINES.get(code_of(image.triple)) else None


def _faults(image: DeviceImage) -> Iterator[tuple[str, str, Severity]]:
    contents = image.contents
    if not image.size:
        yield "is empty", "rebuild it", "error"
        return
    if contents.problem and contents.is_own:
        yield f"({image.target}) has an unknown format", UNKNOWN, "error"
    elif contents.problem:
        yield (
            f"({image.target}) is damaged: {contents.problem}",
            "rebuild or copy it again",
            "error",
        )
    if contents.kind == "unknown":
        return
    declared = image.declared_kind
    is_clangs = (code_of(image.triple), declared, contents.kind) == OF_CLANG
    if declared and contents.kind not in KINDS.get(declared, (declared,)) and not is_clangs:
        yield (
            f"({image.declared}) is declared as {declared} but holds {contents.kind}",
            HINT,
            "error",
        )
    expected = MACHINES.get(code_of(image.triple)) if image.container != "gcc" else None
    arch = processor_in(image.triple) if image.arch in NO_ARCH else image.arch
    if expected and contents.machine and contents.machine != expected:
        yield f"is declared for {image.triple} but holds {contents.machine} code", HINT, "error"
    elif contents.arch and arch and contents.kind != "spirv":
        yield from _arch(image, arch, contents.arch)


def _form(image: DeviceImage, binary: FatBinary) -> Iterator[tuple[str, str, Severity]]:
    form = image.contents.form
    if form is None or form == "shared object" or image.contents.problem:
        return
    if form == "relocatable object" and _is_to_be_linked(image, binary):
        return
    what = f"({image.target}) is {'an' if form[0] in 'eE' else 'a'} {form}"
    yield f"{what}, which no plugin can load", SHARED, "error"


def _is_to_be_linked(image: DeviceImage, binary: FatBinary) -> bool:
    """Return whether clang puts such an image into objects, to link it when it links the host."""
    return image.container in ("offload-binary", "clang-bundle") and binary.type in ("object", None)


def _arch(image: DeviceImage, arch: str, actual: str) -> Iterator[tuple[str, str, Severity]]:
    message = f"is declared for {image.declared} but holds code for {actual}"
    if image.kind == "ptx" and _number(actual) < _number(arch):
        # The driver compiles PTX for newer devices too.
        yield message, "it runs, but without the newer arch's features", "warning"
    elif image.kind == "cubin":
        # A cubin records whether it is for sm_90a alone, but not whether it is for sm_100 or
        # sm_100f.
        is_missed = actual.endswith("a") and not arch.endswith("a")
        if _number(actual) != _number(arch) or is_missed:
            yield message, HINT, "error"
    elif image.kind == "amdgcn" and not actual.startswith(UNKNOWN_PROCESSOR):
        base, *features = arch.split(":")
        name, *states = actual.split(":")
        opposite = {state[:-1] + ("-" if state.endswith("+") else "+") for state in states}
        if base != name or opposite & set(features):
            yield message, HINT, "error"
    elif actual != arch and image.kind != "amdgcn":
        yield message, HINT, "error"


def _number(arch: str) -> int:
    found = _SM.match(arch)
    return int(found[1]) if found else -1


def malformed(binary: FatBinary) -> Iterator[Finding]:
    """A container of device images that is malformed, beside others that are not.

    Its magic, version, sizes, offsets, strings or checksum do not fit its format. It was cut off,
    overwritten or damaged by a tool that moved bytes, has an unknown version, or is nested deeper
    than any tool does. Or two parts of the file, images or tables of entries, share bytes, so one
    of them has a wrong place or size. The runtime loses the images in it, and LLVM's tools may
    crash on it. The rest of the file is still checked. A file of which nothing can be read is no
    finding, but exit code 2.

    Cure: build the file again, or copy it again from a sound copy.
    """
    for fault in binary.faults:
        yield Finding("OMP111", "error", fault, COPIED_AGAIN)
    for message in _overlaps(_parts(binary)):
        yield Finding("OMP111", "error", message, COPIED_AGAIN)


class _Part(NamedTuple):
    """Bytes of the file."""

    start: int
    end: int
    name: str


def _parts(binary: FatBinary) -> list[_Part]:
    """Return the images and tables with their ranges; images compressed together are one part."""
    found: dict[tuple[int, int], _Part] = {}
    for image in binary.images:
        size = image.size if image.stored_size is None else image.stored_size
        span = (image.offset, image.offset + size)
        found.setdefault(span, _Part(*span, f"image {image.index}"))
    for table in binary.tables:
        span = (table.offset, table.offset + table.size)
        found[span] = _Part(*span, table.name)
    return sorted(part for part in found.values() if part.start < part.end)


def _overlaps(parts: list[_Part]) -> Iterator[str]:
    """Yield a message for each part that begins before an earlier one ends."""
    longest = parts[0] if parts else None
    for part in parts[1:]:
        if longest and part.start < longest.end:
            yield (
                f"{longest.name} at {longest.start:#x}..{longest.end:#x} and {part.name} at "
                f"{part.start:#x}..{part.end:#x} share bytes of the file"
            )
        longest = part if longest is None or part.end > longest.end else longest
