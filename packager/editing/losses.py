# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Notes on properties that a file loses by any change."""

from __future__ import annotations

from collections.abc import Iterator

from packager.editing.linked import LinkedFile

MODE = 0o777
FILLING = 64  # bytes that may be nothing but zeros


def losses(file: LinkedFile, mode: int) -> Iterator[str]:
    """Yield a sentence for each property that a file with this mode loses."""
    if mode & ~MODE & 0o7000:
        yield "the result loses set-user-ID and set-group-ID"
    behind = len(file.data) - file.end
    # patchelf pads the file with a zero.
    if behind > FILLING or any(file.data.bytes(file.end, behind)):
        what = "1 byte is" if behind == 1 else f"{behind} bytes are"
        yield f"{what} kept behind the ELF file; a signature there is void"
