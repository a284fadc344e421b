# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Check that the archives (ROCm's kpack) with a library's kernels are there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from packager.formats.containers.kpack import ANY_ARCH
from packager.gpus import on_amd
from packager.model import FatBinary, Finding, KernelArchives

INSTALL = "install the archive for the GPU of this machine"


def by_library(archives: Sequence[KernelArchives]) -> dict[str, list[KernelArchives]]:
    """Return the archives of each library."""
    found: dict[str, list[KernelArchives]] = {}
    for one in archives:
        found.setdefault(one.library, []).append(one)
    return found


def has_kernels(archives: Sequence[KernelArchives], gpu: str) -> bool:
    """Return whether one of a library's archives has kernels for a GPU."""
    found = (arch for one in archives for _, architectures in one.files for arch in architectures)
    return any(on_amd(arch, gpu) for arch in found)


def wanted(archives: Sequence[KernelArchives], gpu: str) -> tuple[str, ...]:
    """Return the paths of a library's archives for a GPU, or for all GPUs."""
    paths = (one.path.replace(ANY_ARCH, gpu, 1) for one in archives)
    return tuple(dict.fromkeys(path for path in paths if gpu in path or "gfx" not in path))


def without_archive(binary: FatBinary) -> Iterator[Finding]:
    """The archive with a library's kernels is not there.

    ROCm 7.13 on splits libraries: their kernels are in archives (.kpack) of their own, one for each
    architecture, and the library names the paths of these from its folder. Without the archive for
    a GPU, no kernel of the library runs on that GPU. Archives of other libraries in the same folder
    show for which GPUs ROCm is installed: if only some of these are missing, this is information,
    as not every library has kernels for every GPU. `omptool doctor` asks for this machine's GPUs.

    Cure: install the package with the archive for the machine's GPU, or copy it beside the library.
    """
    for library, mine in by_library(binary.archives).items():
        beside = dict.fromkeys(arch for one in mine for arch in one.beside)
        lacking = [gpu for gpu in beside if wanted(mine, gpu) and not has_kernels(mine, gpu)]
        if not any(architectures for one in mine for _, architectures in one.files):
            paths = " or ".join(one.path for one in mine)
            others = f"; archives of others there are for {', '.join(lacking)}" if lacking else ""
            message = f"the kernels of {library} are in {paths}, and no such file has them{others}"
            yield Finding("OMP134", "warning", message, INSTALL)
        elif lacking:
            paths = ", ".join(path for gpu in lacking for path in wanted(mine, gpu))
            message = f"{library} has no kernels for {', '.join(lacking)}, for which other archives"
            message += f" are there: they would be in {paths}"
            yield Finding("OMP134", "info", message, INSTALL)
