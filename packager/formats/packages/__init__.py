# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recognise packages by file name and magic.

All else of a format is imported when a file is a package, to keep start-up fast.
"""

from __future__ import annotations

from packager.files.reader import Reader

# Magic of a zip file, and of one without files.
ZIP_FILE, EMPTY_ZIP = b"PK\x03\x04", b"PK\x05\x06"
DEBIAN = b"!<arch>\ndebian-binary"  # an archive and the name of its first member
# Names of packages inside packages; other zip files there are data.
NAMES = (".whl", ".deb", ".conda", ".tar.bz2")
BZIP2, BZIP2_BLOCK = b"BZh", b"1AY&SY"  # the size of blocks is between the two


def probe(data: Reader) -> bool:
    """Return whether `data` is a package, by its first bytes."""
    return is_zip(data) or is_debian(data) or is_bzip2(data)


def is_zip(data: Reader) -> bool:
    """Return whether `data` begins like a zip file."""
    return data.starts_with(ZIP_FILE) or data.starts_with(EMPTY_ZIP)


def is_bzip2(data: Reader) -> bool:
    """Return whether `data` begins like a file compressed by bzip2, as conda's old packages are."""
    size = len(BZIP2) + 1 + len(BZIP2_BLOCK)
    head = data.bytes(0, min(size, len(data)))
    return head.startswith(BZIP2) and head.endswith(BZIP2_BLOCK) and len(head) == size


def is_debian(data: Reader) -> bool:
    """Return whether `data` begins like one of Debian's packages."""
    return data.starts_with(DEBIAN)
