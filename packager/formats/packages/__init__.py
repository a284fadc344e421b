# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Formats of packages, files of any kind with their names: how they begin. All else of a format is
loaded where there is a package, as starting is a feature.
"""

from __future__ import annotations

from packager.files.reader import Reader

# Of a zip file; without any files its end is all there is.
ZIP_FILE, EMPTY_ZIP = b"PK\x03\x04", b"PK\x05\x06"
DEBIAN = b"!<arch>\ndebian-binary"  # an archive and the name of its first member
# Names of packages in packages; other zip files there are data of whoever made them.
NAMES = (".whl", ".deb")


def probe(data: Reader) -> bool:
    """Return whether `data` is a package, by its first bytes."""
    return is_zip(data) or is_debian(data)


def is_zip(data: Reader) -> bool:
    """Return whether `data` begins like a zip file."""
    return data.starts_with(ZIP_FILE) or data.starts_with(EMPTY_ZIP)


def is_debian(data: Reader) -> bool:
    """Return whether `data` begins like one of Debian's packages."""
    return data.starts_with(DEBIAN)
