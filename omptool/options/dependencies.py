# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`-MD` and `-MF`: write a make rule with the inputs of an output, like compilers."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from omptool.options.paths import FILE, as_given
from packager.errors import UsageError

Command = TypeVar("Command", bound=Callable[..., Any])

UNSAYABLE = {b"\n": "line break", b";": "semicolon", b"|": "vertical bar"}
BESIDE = Path("\0")  # marks a missing name; no argument contains NUL


def dependency_options(command: Command) -> Command:
    """Add -MD and -MF."""
    options = (
        click.option(
            "-MD", "rule_beside", type=FILE, metavar="[FILE]", is_flag=False, flag_value=BESIDE,
            help="Write a make rule that names every input of OUT: to FILE, to the file of -MF, "
            "or beside OUT, with the ending .d.",
        ),
        click.option(
            "-MF", "rule_file", type=FILE, metavar="FILE", help="Write that rule to FILE."
        ),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def rule_path(beside: Path | None, file: Path | None, out: Path) -> Path | None:
    """Return the path of the rule, or None. Raises UsageError for two paths."""
    if beside == BESIDE:
        return file or out.with_suffix(".d")
    if beside and file and beside != file:
        raise UsageError(f"-MD {beside} and -MF {file} name two files for one rule")
    return beside or file


@contextmanager
def rule(path: Path | None, out: Path, inputs: Sequence[Path]) -> Iterator[None]:
    """Write the make rule for OUT after the block has succeeded."""
    if path is None:
        yield
        return
    from packager.files.replacing import replacing

    if "%" in str(out):
        raise UsageError("its name has a %, which make would read as a pattern", out)
    target, *sources = map(_escaped, (out, *inputs))
    with replacing(path) as temporary:
        temporary.write_bytes(b"%s: %s\n" % (target, b" ".join(sources)))
        yield


def _escaped(path: Path) -> bytes:
    """Return a name escaped for make and ninja. Raises UsageError if they cannot read it."""
    name = os.fsencode(as_given(path))
    for sign, called in UNSAYABLE.items():
        if sign in name:
            raise UsageError(f"its name has a {called}, which no make rule can hold", path)
    return re.sub(rb"(\\*)([ \t#])", rb"\1\1\\\2", name.replace(b"$", b"$$")).replace(b":", rb"\:")
