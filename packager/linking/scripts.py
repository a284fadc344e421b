"""Linker scripts in place of libraries: `INPUT(…)` and `GROUP(…)` name files that are linked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

MAX_SIZE = 1 << 16  # of a script that stands for a library
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
COMMAND = re.compile(r"\b(?:INPUT|GROUP)\s*\(((?:[^()]|AS_NEEDED\s*\([^()]*\))*)\)")
WORD = re.compile(r'"([^"\n]*)"|([^\s,()"]+)')


def named(path: Path) -> Iterator[str]:
    """The files and -l words that the script at `path` names; nothing for what is no script."""
    try:
        if path.stat().st_size > MAX_SIZE:
            return
        data = path.read_bytes()
    except OSError:
        return  # the linker says what is wrong with it
    if b"\0" in data:
        return
    text = COMMENT.sub(" ", data.decode(errors="surrogateescape"))
    for command in COMMAND.finditer(text):
        for quoted, plain in WORD.findall(command[1]):
            if quoted or plain != "AS_NEEDED":
                yield quoted or plain
