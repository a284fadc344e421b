# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Read Debian's packages (deb(5)): an archive with a compressed or plain data.tar of files."""

from __future__ import annotations

from collections.abc import Iterator

from packager.errors import FormatError
from packager.files.reader import Reader
from packager.formats.compressed.streams import stream
from packager.formats.containers import archive
from packager.formats.packages import tar_stream
from packager.formats.packages.packed import Packed

FIRST, DATA = "debian-binary", "data.tar"
VERSION = b"2."
METHODS = {"": "", ".gz": "gzip", ".xz": "xz", ".zst": "zstd", ".bz2": "bzip2"}


def files(data: Reader) -> Iterator[Packed]:
    """Yield the regular files that the package installs.

    Raises FormatError where it is damaged, cut off or of another version, LimitError where it
    inflates to more than the limit.
    """
    for member in archive.members(data):
        if member.data is None:
            continue
        if member.name == FIRST and not member.data.starts_with(VERSION):
            raise FormatError("is a Debian package of a version other than 2")
        if member.name.startswith(DATA):
            ending = member.name.removeprefix(DATA)
            if ending not in METHODS:
                known = ", ".join(f"{DATA}{one}" for one in METHODS)
                raise FormatError(f"{member.name} has an unknown format; known names: {known}")
            pieces = stream(member.data, METHODS[ending], member.name)
            yield from tar_stream.files(pieces, member.data.at)
            for _ in pieces:  # whether it is cut off shows at its end
                pass
            return
    raise FormatError(f"is a Debian package without {DATA}")
