# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Correct the dependency rules of a compiler whose output is an intermediate file."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from packager.compiling.command import MADE, CompileCommand, value_of
from packager.files.replacing import replacing
from packager.linking.tools import Tools


def named(
    command: CompileCommand, source: Path, out: Path | None
) -> tuple[CompileCommand, Path | None]:
    """Return the command with its dependency rule named after `out`, and the path of the rule file.

    The path is None if the command requests no rules.
    """
    words = command.words
    if not {"-MD", "-MMD"} & set(words):
        return command, None
    added = []
    path = value_of(words, "-MF")
    if not path:
        path = str(_beside(command, source, out))
        added += ["-MF", path]
    if not any(word.startswith(("-MT", "-MQ")) for word in words):
        added += ["-MQ", str(out or command.output or "a.out")]
    return command._replace(words=(*words, *added)), Path(path)


def _beside(command: CompileCommand, source: Path, out: Path | None) -> Path:
    is_alone = sum(item.kind in MADE for item in command.inputs) == 1
    out = out or (command.output if is_alone else None)
    return out.with_suffix(".d") if out else Path(f"{source.stem}.d")


def add(path: Path, inputs: Sequence[Path]) -> None:
    """Add `inputs` as prerequisites to the make rule in `path`."""
    said = path.read_bytes()
    target = re.split(rb":\s", said, maxsplit=1)[0]
    names = b" ".join(_escaped(one) for one in inputs)
    with replacing(path) as temporary:
        temporary.write_bytes(said.rstrip(b"\n") + b"\n" + target + b": " + names + b"\n")


def _escaped(path: Path) -> bytes:
    return re.sub(rb"([ #])", rb"\\\1", os.fsencode(path).replace(b"$", b"$$"))


def say(path: Path | None, command: CompileCommand, tools: Tools) -> None:
    """Add the kernels to the make rule of the source that they are linked with."""
    modules = [item.path for item in command.of_kind("kernels")]
    if path and modules and not tools.is_dry:
        add(path, modules)
