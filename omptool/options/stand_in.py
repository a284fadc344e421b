# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Translate the arguments of clang-linker-wrapper, of clang 15 to 22, to `omptool link`'s."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from packager.errors import UsageError

NAME = "clang-linker-wrapper"
_LINKER = "--linker-path="
# Matches --bitcode-library=openmp-nvptx64-nvidia-cuda-sm_90=FILE and --builtin-bitcode=T=FILE.
_LIBRARY = r"--(?:bitcode-library|builtin-bitcode)=[^=]*=((?s:.*))"
# Optimisation level; since clang 21 an option for the device compiler, of one triple or of all.
_LEVEL = r"--opt-level=O([0-3])|--device-compiler=(?:[^=]*=)?-O([0-3])"
# Options of clang's wrapper that do not change its result, and are ignored.
_INNER = (
    r"--(host-triple|wrapper-jobs|wrapper-time-trace|wrapper-time-trace-granularity|cuda-path|"
    r"compression-level|should-extract|device-compiler|clang-backend|compress|device-debug|"
    r"offload-opt)(=.*)?|--pass-remarks.*"
)
# Options of clang's wrapper that change its result and that omptool lacks: an error.
_REFUSED = r"--(override-image|embed-bitcode|print-wrapped-module|emit-fatbin-only)(=.*)?"


def is_meant(words: Sequence[str]) -> bool:
    """Return whether they are its arguments, under its name or behind `omptool link`."""
    own = words[: words.index("--")] if "--" in words else words
    return any(word.startswith(_LINKER) for word in own)


def translated(words: Sequence[str]) -> list[str]:
    """Return the arguments for `omptool link`. Raises UsageError for unsupported ones."""
    options: list[str] = []
    command: list[str] = []
    linker, is_kept = "", False
    after = iter(words)
    for word in after:
        if word.startswith(_LINKER):
            linker = word.removeprefix(_LINKER)
        elif word == "-mllvm":  # an option of LLVM in clang's wrapper
            next(after, "")
        elif re.fullmatch(_REFUSED, word):
            raise UsageError(f"{word}: omptool's stand-in for {NAME} does not support this option")
        elif word == "--save-temps":
            is_kept = True
        elif known := list(_option(word)):
            options += known
        elif word != "--" and not re.fullmatch(_INNER, word, re.DOTALL):
            command.append(word)
    if is_kept:
        options.append(f"--save-temps={_output(command)}.temps")
    return [*options, "--", linker, *command]


def _option(word: str) -> Iterator[str]:
    """Yield an option in `omptool link`'s spelling; nothing for a word that the linker receives."""
    library, level = re.fullmatch(_LIBRARY, word), re.fullmatch(_LEVEL, word)
    if library:
        yield from ("--device-lib", library[1])
    elif level:
        yield from ("-O", level[1] or level[2])
    elif word.startswith(("--device-linker=", "--ptxas-arg=")) or word == "--dry-run":
        yield word
    elif word == "--wrapper-verbose":
        yield "-v"


def _output(command: Sequence[str]) -> str:
    """Return a link's output, after which parallel links in one folder name their files."""
    named = [value for option, value in pairwise(command) if option == "-o"]
    return str(Path(named[-1] if named else "a.out"))
