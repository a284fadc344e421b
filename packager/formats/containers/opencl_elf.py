# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ELF files of Intel's OpenCL compilers that hold a module in a section (`ocloc`'s generic_ir).

Their e_type is one of OpenCL's own, and the types of their sections say what these hold
(intel/compute-runtime, `device_binary_format/elf/ocl_elf.h`).
"""

from __future__ import annotations

from collections.abc import Iterator

from packager.elf import headers
from packager.errors import FormatError
from packager.files.reader import Reader
from packager.formats.containers.payload import Payload
from packager.model import ImageKind

NAME = "opencl-elf"
# e_type values: source, objects, libraries, executables and debug information.
TYPES = range(0xFF01, 0xFF06)
HELD: dict[int, ImageKind] = {0xFF000003: "bitcode", 0xFF000009: "spirv"}
DEVICE_BINARY = 0xFF000005


def probe(data: Reader) -> bool:
    """Return whether `data` begins with such a file."""
    if not headers.probe(data) or len(data) < headers.HEADER.size:
        return False
    return data.unpack(headers.HEADER, 0, "ELF header")[1] in TYPES


def parse(data: Reader) -> Iterator[Payload]:
    """Yield the modules in a file. Raises FormatError if it is malformed or has none."""
    elf = headers.read(data)
    held = [s for s in elf.sections if s.type in HELD or s.type == DEVICE_BINARY]
    if not held:
        raise FormatError(f"OpenCL's ELF file at {data.at:#x} holds no module")
    for section in held:
        yield Payload(elf.content(section), declared_kind=HELD.get(section.type))
