"""Whether the containers of device images could be read whole."""

from __future__ import annotations

from collections.abc import Iterator

from packager.model import FatBinary, Finding

HINT = "build or copy the file again; `omptool dump` shows what is left"


def malformed(binary: FatBinary) -> Iterator[Finding]:
    """A container of device images that is malformed, beside others that are not.

    Its magic, version, sizes, offsets, strings or checksum are not what its format says: it was cut
    off, overwritten or damaged by a tool that moved bytes, is of a version that is not known here,
    or is nested deeper than any tool does. The images in it are lost to the runtime, and LLVM's
    tools may crash on it. The rest of the file is checked all the same; a file of which nothing can
    be read is no finding, but exit code 2.

    Cure: build the file again, or copy it again from where it is whole.
    """
    for fault in binary.faults:
        yield Finding("OMP111", "error", fault, HINT)
