# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names in files, as text that is safe to show."""

from __future__ import annotations


def text(name: bytes) -> str:
    """Return a name from a file with unprintable characters escaped."""
    decoded = name.decode("utf-8", "backslashreplace")
    return decoded if decoded.isprintable() else decoded.translate(_ESCAPES)


class _Escapes(dict[int, str]):
    """A table of str.translate for each character; hostile files have many that are escaped."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        escaped = character.encode("unicode_escape").decode()
        self[code] = character if character.isprintable() else escaped
        return self[code]


_ESCAPES = _Escapes()
