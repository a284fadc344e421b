# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The device code of one target to the image that a plugin loads."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from struct import Struct
from typing import TYPE_CHECKING

from packager.elf.headers import ET_REL, MAGIC
from packager.errors import MissingToolError, UsageError
from packager.files.reader import open_reader
from packager.files.temporary import unused
from packager.formats.device_images.bitcode import magic
from packager.linking.cpu import device_runtime, indirect_calls
from packager.linking.cpu.link import Libraries, link_cpu
from packager.linking.groups import Group
from packager.linking.inputs import Part, device_symbols
from packager.linking.tools import Tools
from packager.lowering.linker import lld
from packager.processes.programs import which
from packager.records import NamedTuple
from packager.triples import GPUS, code_of, is_spirv_of_openmp, normalise

if TYPE_CHECKING:
    from packager.linking.image_cache import ImageCache
    from packager.lowering.request import Emit

ELF_TYPE = Struct("<16xH")


class DeviceOptions(NamedTuple):
    """The user's options for the link of device code."""

    libraries: tuple[Path, ...] = ()  # bitcode of functions that kernels call
    words: tuple[tuple[str, str], ...] = ()  # options of a linker, each with a triple or ""
    level: int = 2  # optimisation level of bitcode
    keeps_ptx: bool = False  # even if ptxas could assemble it
    ptxas: tuple[str, ...] = ()  # words for ptxas
    cache: ImageCache | None = None  # of images that LLVM has joined

    def of(self, group: Group) -> list[str]:
        """Return the words for the linker of a group."""
        triples = {"", normalise(group.triple)}
        return [word for triple, word in self.words if (triple and normalise(triple)) in triples]


def link_group(
    group: Group,
    libraries: Libraries,
    options: DeviceOptions,
    tools: Tools,
    entries: Collection[str] = (),
) -> tuple[Path, str]:
    """Link the image of a group in the folder of `tools`; return it with the linker's warnings.

    `entries` are the names in the host's tables: bitcode of other compilers than clang does not
    record them. Raises UsageError, LinkError, SourceError if its code cannot be linked,
    MissingToolError.
    """
    states = [_state(part) for part in group.parts]
    is_openmp_spirv = is_spirv_of_openmp(group.triple)
    if is_openmp_spirv:
        from packager.linking import spirv

        spirv.expect_bitcode(group.parts)
    if "bitcode" not in states:
        _expect_no_library(group, options)
    if states == ["linked"]:
        return group.parts[0].file, ""
    if "linked" in states:
        raise UsageError(f"device code for {group.name} cannot be linked together: {_forms(group)}")
    out = unused(tools.folder, f"{group.name.replace(':', '-')}.image")
    is_gpu = code_of(group.triple) in GPUS
    if not is_gpu:
        runtime = device_runtime.added(group, libraries, options.libraries, tools)
        group = group._replace(parts=(*group.parts, *runtime))
        states += map(_state, runtime)
    joined = _in_state("bitcode", group, states)
    if joined and is_gpu and len(joined) < len(group.parts):
        raise UsageError(f"device code for {group.name} cannot be linked together: {_forms(group)}")
    if joined and is_gpu:
        emit: Emit = "obj" if _is_assembled(group, options) else "image"
        said = _joined(joined, group, out, emit, libraries, options, tools, entries)
        wrong = spirv.warnings(joined) if is_openmp_spirv else ()
        return out, "\n".join(filter(None, (said, *wrong, *_left_out(group, options, emit))))
    objects = [_object(part, tools) for part in _in_state("object", group, states)]
    warnings = []
    if joined:
        made = unused(tools.folder, f"{group.triple}.bc.o")
        others = [part for part in group.parts if part not in joined]
        kept = {*entries, *(name for part in others for name in device_symbols(part)[0])}
        warnings.append(_joined(joined, group, made, "obj", libraries, options, tools, kept))
        objects.append(made)
    if not is_gpu and indirect_calls.is_called(group.parts):
        objects += indirect_calls.written(group.triple, tools.folder)
    link = _by_gpus_linker if is_gpu else link_cpu
    warnings.append(link(group, objects, out, libraries, options.of(group), tools))
    return out, "\n".join(filter(None, warnings))


def _expect_no_library(group: Group, options: DeviceOptions) -> None:
    """Raise UsageError for a library of bitcode that code of a group's processor cannot use."""
    if not options.libraries:
        return
    from packager.formats.device_images.bitcode import module as bitcode  # slow to load

    code = code_of(group.triple)
    for library in options.libraries:
        with open_reader(library) as data:
            is_for_it = magic.probe(data) and bitcode.machine(data) == code
        if is_for_it:
            what = f"holds machine code for {group.arch or code}"
            why = f"bitcode libraries ({library.name}) cannot be linked with it"
            cure = "compile with -foffload-lto"
            raise UsageError(f"{what}; {why}: {cure}", Path(group.parts[0].origin))


def _is_assembled(group: Group, options: DeviceOptions) -> bool:
    is_ptx = code_of(group.triple) == "nvptx64" and not options.keeps_ptx
    return is_ptx and which("ptxas") is not None


def _left_out(group: Group, options: DeviceOptions, emit: Emit) -> Iterator[str]:
    """Yield a warning for options that have no linker, as LLVM joins bitcode itself."""
    left = [word for word in options.of(group) if not word.startswith(("-l", "-L"))]
    if left:
        yield f"LLVM joins bitcode without a linker, so {' '.join(left)} has no effect"
    if options.ptxas and emit == "image" and code_of(group.triple) == "nvptx64":
        yield f"the image stays PTX, so {' '.join(options.ptxas)} for ptxas has no effect"


def _state(part: Part) -> str:
    """Return the state of a part: "object", "bitcode", or "linked", which needs no work."""
    if part.image.kind == "bitcode":
        return "bitcode"
    with part.opened() as data:
        is_elf = data.starts_with(MAGIC)
        return (
            "object" if is_elf and data.unpack(ELF_TYPE, 0, "ELF type") == (ET_REL,) else "linked"
        )


def _in_state(wanted: str, group: Group, states: Sequence[str]) -> list[Part]:
    return [part for part, state in zip(group.parts, states, strict=True) if state == wanted]


def _forms(group: Group) -> str:
    return ", ".join(f"{part.origin} ({_state(part)} {part.image.kind})" for part in group.parts)


def _object(part: Part, tools: Tools) -> Path:
    tools.names[str(part.file)] = part.origin
    return part.file


def _by_gpus_linker(
    group: Group, objects: Sequence[Path], out: Path, _: Libraries, words: Sequence[str],
    tools: Tools,
) -> str:  # fmt: skip
    """Link objects of a GPU's code by its own linker."""
    files = [str(path) for path in objects]
    if code_of(group.triple) == "amdgcn":
        linker = lld()
        if linker is None:
            raise MissingToolError(f"linking for {group.name} needs ld.lld, and none is on PATH")
        command = [linker, "-shared", "--build-id=none", *words, *files, "-o", str(out)]
    else:
        nvlink = which("nvlink")
        if nvlink is None:
            raise MissingToolError(
                f"linking cubins for {group.name} needs CUDA's nvlink, and it is not on PATH; "
                "objects compiled with -foffload-lto need no CUDA"
            )
        command = [nvlink, f"-arch={group.arch}", *words, *files, "-o", str(out)]
    return tools.run(command, group.name)


def _joined(
    parts: Sequence[Part], group: Group, out: Path, emit: Emit, libraries: Libraries,
    options: DeviceOptions, tools: Tools, kept: Collection[str] = (),
) -> str:  # fmt: skip
    """Compile bitcode to an image, or to a CPU's object that is linked with users of `kept`."""
    from packager.linking.bitcode import BitcodeInput, join
    from packager.lowering.lower import Target

    tools.show(f"omptool: join {' '.join(part.origin for part in parts)} -o {out}")
    if tools.is_dry:
        return ""
    inputs = [BitcodeInput(part.file, part.origin) for part in parts]
    target = Target(group.triple, group.arch, level=options.level, ptxas=options.ptxas)
    search = libraries.command.folders
    worker = tools.worker()
    done = join(
        *(inputs, target, options.libraries, out), emit=emit, kept=kept, search=search,
        folder=libraries.folder, child=worker, cache=options.cache,
    )  # fmt: skip
    return "\n".join(done.notes)
