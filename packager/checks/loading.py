# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Check that a runtime will be able to load an image, from the image's bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from packager.abi import release_of
from packager.formats.device_images.device_elf import CUDA_V2_ABI
from packager.generations import GENERATIONS
from packager.model import DeviceImage, FatBinary, Finding, Severity
from packager.wording import runs

RUNTIME = "libomptarget.so"
OPENMP_LIBRARIES = ("libomp.", "libomptarget.", "libgomp.", "libiomp5.", "libomp5.")
# Prefixes of functions in the device runtime library.
DEVICE_LIBRARY = ("__kmpc_", "omp_", "__tgt_", "_FortranA")
# The CUDA driver defines these when it loads a cubin: functions, and names reserved by NVIDIA's
# toolchain (shared memory, tables of functions and data, system calls).
CUDA_FUNCTIONS = ("vprintf", "malloc", "free", "__assertfail")
CUDA_RESERVED = (".nv.", "__cuda_", "__UFT", "__UDT", "cudaGetParameter", "cudaLaunch")
# Architectures whose bitcode a plugin compiles: docs/plugins.md, "Images left as bitcode".
COMPILED = ("x86_64", "aarch64", "amdgcn", "nvptx64", "spirv64")
LAST_BLIND_TO_CUDA_13 = 20
UNSAFE_AT_EXIT = [row.name for row in GENERATIONS if row.registration == "init_array"]
REQUIRES_SHARED_MEMORY = 0x8
PACKAGED = "package the library under its own name: docs/packaging.md"


def wrapped(binary: FatBinary) -> Iterator[Finding]:
    """The program registers containers, not the images in them.

    Clang 15 to 17 register the OffloadBinary around each image. LLVM 21's and later runtimes look
    for an image at that place and find none: the program has no devices and silently runs on the
    host. The runtimes of LLVM 15 to 20 and omptool's unwrap the images.

    Cure: `omptool run`, or link again with a newer clang.
    """
    images = [image.index for image in binary.images if image.is_wrapped]
    if images:
        some = ", ".join(map(str, images))
        message = f"image {some} is registered with the OffloadBinary around it: "
        message += "LLVM 21's and later runtimes see no image"
        hint = "run it with `omptool run`, or link it again with a newer clang"
        yield Finding("OMP113", "warning", message, hint, None, images[0])


def unlinked(binary: FatBinary) -> Iterator[Finding]:
    """An image calls functions that nothing will define.

    It was linked without the device runtime library, or without a library of the user's: no library
    named in the image has its undefined symbols. The plugin refuses to load it. In AMD's code
    objects only symbols count that a relocation uses: the loader needs no others. In SPIR-V only
    functions of the runtime library count: drivers define others, such as OpenCL's.

    Cure: link the device code with its runtime library (-lompdevice, the bitcode library of the
    arch), and with every library that its functions are in.
    """
    is_linked = binary.type != "object" or bool(binary.descriptors)
    for image in binary.images:
        if image.kind == "spirv" and not is_linked:
            continue  # the device link brings the library
        if lack := undefined(image):
            message = f"image {image.index} ({image.target}) {lack}"
            hint = "link the device code with its runtime library"
            yield Finding("OMP114", "error", message, hint, None, image.index)


def undefined(image: DeviceImage) -> str:
    """Return the functions that an image needs and nothing defines, as a predicate; "" if none."""
    names = _unresolved(image)
    some = f"{', '.join(names[:4])}{', …' if len(names) > 4 else ''}"
    return f"needs {some}, which nothing defines" if names else ""


def _unresolved(image: DeviceImage) -> list[str]:
    links = image.contents.links
    if image.kind == "bitcode":
        return []  # whoever links or compiles it brings the library
    if image.kind == "cubin":
        return [name for name in links.undefined if not _is_of_cuda(name)]
    if image.kind == "amdgcn":
        return list(links.undefined)
    if any(name.startswith(OPENMP_LIBRARIES) for name in links.needed):
        return []
    return [name for name in links.undefined if name.startswith(DEVICE_LIBRARY)]


def _is_of_cuda(name: str) -> bool:
    return name in CUDA_FUNCTIONS or name.startswith(CUDA_RESERVED)


def second_runtime(binary: FatBinary) -> Iterator[Finding]:
    """An image for the CPU brings another runtime, or looks for libraries in a folder of its own.

    Clang links such images with libomptarget. If this is not the libomptarget that the host needs,
    loading the image loads a second runtime into the process. `auditwheel repair` renames the
    libraries that the host needs (libomp-6a3e1b2c.so.5), but images still need the old name. If
    the loader finds a library of the old name, the process gets two libomp and ends. If it finds no
    such library, the image does not load. An absolute RUNPATH that the host does not have names a
    folder of the machine that built the image.

    Cure: compile and link host and device with one clang; put the libraries into the wheel under
    their own names before auditwheel sees it (docs/packaging.md); -fno-rtlib-add-rpath leaves
    RUNPATH out.
    """
    host = {name for name in binary.needed if name.startswith(RUNTIME)}
    for image in binary.images:
        links = image.contents.links
        own = {name for name in links.needed if name.startswith(RUNTIME)}
        if host and own - host:
            message = f"image {image.index} needs {', '.join(sorted(own - host))}, "
            message += f"its host {', '.join(sorted(host))}: two runtimes in one process"
            hint = "build host and device with one clang, or use `omptool run`"
            yield Finding("OMP115", "warning", message, hint, None, image.index)
        for message in renamed_libraries(image, binary.needed):
            yield Finding("OMP115", "error", message, PACKAGED, None, image.index)
        # Clang's driver passes the options of the host's link to the link of images.
        fixed = [p for p in links.search if p.startswith("/") and p not in binary.search]
        if fixed:
            message = f"image {image.index} looks for libraries in {', '.join(fixed)}"
            message += ", where its host does not"
            hint = "clang's -fno-rtlib-add-rpath leaves this folder out"
            yield Finding("OMP115", "warning", message, hint, None, image.index)


def renamed_libraries(image: DeviceImage, host: Sequence[str]) -> Iterator[str]:
    """Yield a sentence for each OpenMP library of the image that auditwheel has renamed in `host`.

    `host` lists the libraries that the host needs.
    """
    for name in image.contents.links.needed:
        if name in host or not name.startswith(OPENMP_LIBRARIES):
            continue
        stem, _, rest = name.partition(".")
        pattern = re.compile(rf"{re.escape(stem)}-[0-9a-f]{{8}}\.{re.escape(rest)}")
        for other in filter(pattern.fullmatch, host):
            what = f"image {image.index} needs {name}, which its host needs as {other}"
            yield f"{what}: the image does not load, or the second copy ends the program"


def compiled_later(binary: FatBinary) -> Iterator[Finding]:
    """An image is not code yet.

    The driver compiles PTX and CUDA Tile's bytecode when it loads the image; the runtime or the
    driver compiles LLVM's bitcode and SPIR-V, if it can. This takes time at each start, and fails
    where the compiler is too old. omptool's plugins compile bitcode for x86_64, aarch64, nvptx64
    and spirv64 by `omptool lower` at its first use, and keep the result; no plugin takes bitcode
    that `bundle` got for another target. In images for CUDA's, HIP's and SYCL's runtimes, and in an
    image without a host, this is information: they are made so.

    Cure: none is needed where the driver is new enough; for other machines, add the image of the
    arch itself.
    """
    never = [found for image in binary.images for found in _never_compiled(image, binary)]
    yield from never
    if binary.type == "object":
        return
    ready = {image.triple for image in binary.images if image.kind in ("cubin", "amdgcn")}
    unfit = {found.image for found in never}
    levels: dict[str, Severity] = {
        "ptx": "info",
        "tileir": "info",
        "bitcode": "warning",
        "spirv": "warning",
    }
    others = {index for row in binary.registrations for index in row.images}
    later: dict[tuple[str, str, Severity], list[int]] = {}
    for image in binary.images:
        if image.kind in levels and image.triple not in ready and image.index not in unfit:
            # Registrations in files of Windows are not read.
            is_made_so = binary.type is None or image.index in others or image.container == "tgtimg"
            level = "info" if is_made_so else levels[image.kind]
            later.setdefault((image.kind, image.declared, level), []).append(image.index)
    for (kind, target, level), indices in later.items():
        message = f"image {runs(indices)} ({target}) is {kind}: compiled when loaded"
        hint = "it needs a driver or runtime that can compile it"
        yield Finding("OMP116", level, message, hint, None, indices[0])


def _never_compiled(image: DeviceImage, binary: FatBinary) -> Iterator[Finding]:
    """Report bitcode for a target that none of omptool's plugins compiles."""
    machine = image.contents.machine or ""
    is_ours = binary.abi in ("interface", "proposal")  # LLVM's have plugins of their own
    if image.kind != "bitcode" or not is_ours or image.contents.problem:
        return
    if not machine.startswith(COMPILED):
        code = f"bitcode for {machine}" if machine else "bitcode that names no target"
        message = (
            f"image {image.index} ({image.target}) is {code}, which no plugin of omptool compiles"
        )
        hint = "make code of it with `omptool lower` or the compiler's linker"
        yield Finding("OMP116", "warning", message, hint, None, image.index)


def newer_cubin(binary: FatBinary) -> Iterator[Finding]:
    """A cubin of CUDA 13 for a runtime that does not know them.

    CUDA 13 moved the arch in a cubin's header. LLVM's runtimes up to 20 read a wrong arch, and
    refuse the image or crash.

    Cure: `omptool run`, a newer runtime, or CUDA 12's ptxas.
    """
    releases = [release_of(name) for name in binary.needed]
    old = [release for release in releases if 0 < release <= LAST_BLIND_TO_CUDA_13]
    for image in binary.images if old else ():
        if image.kind == "cubin" and image.contents.abi_version >= CUDA_V2_ABI:
            message = (
                f"image {image.index} is of CUDA 13, which the runtime of LLVM {old[0]} misreads"
            )
            hint = "use `omptool run`, a newer runtime, or CUDA 12's ptxas"
            yield Finding("OMP117", "warning", message, hint, None, image.index)


def unregisters_late(binary: FatBinary) -> Iterator[Finding]:
    """The images are unregistered after the driver may have gone.

    Up to clang 18 a destructor of the file unregisters the images. Drivers that end themselves at
    exit, such as CUDA's, may have ended before. The program may then crash after its work.

    Cure: link again with clang 19 or later, or use `omptool run`.
    """
    cuda = [image for image in binary.images if image.kind in ("cubin", "ptx")]
    if cuda and binary.abi in UNSAFE_AT_EXIT and binary.descriptors and binary.type != "object":
        message = (
            "a destructor unregisters the images; if CUDA is gone by then, the program crashes"
        )
        hint = "link with clang 19 or later, or use `omptool run`"
        yield Finding("OMP119", "warning", message, hint, None, cuda[0].index)


def shared_memory_without_xnack(binary: FatBinary) -> Iterator[Finding]:
    """The program requires unified shared memory, its AMD image does not.

    With `requires unified_shared_memory` kernels follow the host's pointers. On AMD's devices this
    needs XNACK: an image that is not compiled for xnack+ faults or is refused.

    Cure: compile for the target id with :xnack+, and run with HSA_XNACK=1.
    """
    if not any(e.kind == "requires" and e.data & REQUIRES_SHARED_MEMORY for e in binary.entries):
        return
    for image in binary.images:
        if image.kind == "amdgcn" and ":xnack+" not in image.processor:
            message = f"unified shared memory is required, but image {image.index} "
            message += f"({image.target}) is not for xnack+"
            hint = "compile for the target id with :xnack+"
            yield Finding("OMP125", "warning", message, hint, None, image.index)
