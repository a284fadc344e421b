# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write the JSON documents of the reading commands in pieces: those of large files are long."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache

# Values nested deeper stay on one line. Levels: document, files, a file, entries, an entry.
DEPTH = 4


def document(files: Iterable[Mapping[str, object]], errors: Iterable[object]) -> Iterator[str]:
    """Yield the document of a command about files, in pieces.

    Iterators in it become lists; each item is requested only when it is printed.
    """
    return pieces({"schema": 1, "files": files, "errors": errors})


def pieces(value: object, depth: int = 0) -> Iterator[str]:
    """Yield a value as JSON, in pieces."""
    encode = _encoder()
    if depth == DEPTH or isinstance(value, str):
        yield encode(value)
    elif isinstance(value, Mapping):
        members = ((f"{encode(name)}: ", item) for name, item in value.items())
        yield from _enclosed("{", members, "}", depth)
    elif isinstance(value, Iterable):
        yield from _enclosed("[", (("", item) for item in value), "]", depth)
    else:
        yield encode(value)


@cache
def _encoder() -> Callable[[object], str]:
    """Return a function that writes one value; json is imported only for JSON output."""
    from json import JSONEncoder

    return JSONEncoder().encode


def _enclosed(
    start: str, members: Iterable[tuple[str, object]], end: str, depth: int
) -> Iterator[str]:
    """Yield an object or a list, with a line for each member."""
    yield start
    indent, separator = "\n" + "  " * depth, ""
    for name, item in members:
        yield f"{separator}{indent}  {name}"
        yield from pieces(item, depth + 1)
        separator = ","
    yield indent + end if separator else end
