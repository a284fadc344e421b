# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Read the source places of PTX kernels: the first `.loc` names a `.file` and a line (PTX ISA)."""

from __future__ import annotations

import re
from collections.abc import Collection

from packager.dwarf.place import Place
from packager.errors import LimitError
from packager.files.names import text
from packager.files.reader import Reader

MAX_TEXT = 1 << 26
_PLACE = re.compile(rb"\.loc[ \t]")
_LINE = re.compile(
    rb"^[ \t]*(?:"
    rb'\.file[ \t]+(?P<number>\d{1,9})[ \t]+"(?P<path>[^"\n]{1,4096})"'
    rb"|\.loc[ \t]+(?P<file>\d{1,9})[ \t]+(?P<line>\d{1,9})"
    rb"|(?:\.(?:visible|weak|extern)[ \t]+)?\.(?:entry[ \t]+(?P<entry>[\w$%]+)|func\b)"
    rb")",
    re.MULTILINE,
)


def places(data: Reader, names: Collection[str]) -> dict[str, Place]:
    """Return the source places of these kernels, from directives in PTX.

    Raises LimitError for a text that exceeds a limit.
    """
    if len(data) > MAX_TEXT:
        raise LimitError(f"PTX of {len(data)} bytes is larger than {MAX_TEXT}")
    block = data.bytes(what="PTX")
    if not _PLACE.search(block):
        return {}
    files: dict[int, str] = {}
    first: dict[str, tuple[int, int]] = {}
    kernel: str | None = None
    for found in _LINE.finditer(block):
        if found["number"]:  # often at the end
            files.setdefault(int(found["number"]), text(found["path"]))
        elif not found["file"]:
            kernel = found["entry"].decode() if found["entry"] else None
        elif kernel is not None and kernel in names:
            first.setdefault(kernel, (int(found["file"]), int(found["line"])))
    return {name: Place(files[at], line) for name, (at, line) in first.items() if at in files}
