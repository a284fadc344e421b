# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels of files: of an image, and each once with the images that have it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from packager.model import DeviceImage, DeviceSymbol, FatBinary, SourcePlace
from packager.naming.demangle import demangled
from packager.naming.region_names import short_name
from packager.records import NamedTuple


def kernels(binary: FatBinary, image: DeviceImage) -> list[DeviceSymbol]:
    """Return the kernels of an image that a host can launch."""
    found = (symbol for symbol in own(image) if symbol.kind == "kernel")
    return [symbol for symbol in found if symbol.is_told or symbol.name in binary.named]


def own(image: DeviceImage) -> Sequence[DeviceSymbol]:
    """Return the symbols that an image offers a host.

    These are the entries of its table, plus the globals of PTX and SPIR-V. Without a table, they
    are all exported symbols.
    """
    if image.table is None or image.kind in ("ptx", "spirv"):
        return image.symbols
    return image.table


class Kernel(NamedTuple):
    """A kernel, and its symbol in each image that has it."""

    name: str
    symbols: Sequence[tuple[DeviceImage, DeviceSymbol]]

    @property
    def images(self) -> list[DeviceImage]:
        """Return the images that have the kernel."""
        return [image for image, _ in self.symbols]

    @property
    def source(self) -> SourcePlace | None:
        """Return the place of the kernel's function, if the file was loaded with sources."""
        return next((symbol.source for _, symbol in self.symbols if symbol.source), None)

    def __repr__(self) -> str:
        short = short_name(self.name) or demangled(self.name)
        return f"<Kernel {short} for {architectures(self.images)}>"


def merged(binary: FatBinary, images: Iterable[DeviceImage]) -> list[Kernel]:
    """Return each kernel of the images once, in order."""
    found: dict[str, list[tuple[DeviceImage, DeviceSymbol]]] = {}
    for image in images:
        for kernel in kernels(binary, image):
            found.setdefault(kernel.name, []).append((image, kernel))
    return [Kernel(name, symbols) for name, symbols in found.items()]


def architectures(images: Iterable[DeviceImage]) -> str:
    """Return the targets of images in short: "sm_80,90a; ptx sm_90".

    An image without an architecture counts by its triple.
    """
    found: dict[tuple[str, str], dict[str, None]] = {}
    for image in images:
        arch = image.processor
        if not arch:
            found[("", image.triple or image.contents.machine or image.kind)] = {}
            continue
        prefix = "sm_" if arch.startswith("sm_") else "gfx" if arch.startswith("gfx") else ""
        label = "" if image.kind in ("cubin", "amdgcn", "elf", "zebin") else f"{image.kind} "
        found.setdefault((label, prefix), {})[arch.removeprefix(prefix)] = None
    groups = (f"{label}{prefix}{','.join(archs)}" for (label, prefix), archs in found.items())
    return "; ".join(groups)
