"""The arguments of clang-linker-wrapper, of clang 15 to 22, as those of `omptool link`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from packager.errors import UsageError

NAME = "clang-linker-wrapper"
_LINKER = "--linker-path="
# Of the form --bitcode-library=openmp-nvptx64-nvidia-cuda-sm_90=FILE and --builtin-bitcode=T=FILE.
_LIBRARY = re.compile(r"--(?:bitcode-library|builtin-bitcode)=[^=]*=(.*)", re.DOTALL)
_LEVEL = re.compile(r"--opt-level=O([0-3])")
# What says how clang's wrapper works, not what comes of it.
_INNER = re.compile(
    r"--(host-triple|wrapper-jobs|wrapper-time-trace|wrapper-time-trace-granularity|cuda-path|"
    r"compression-level|should-extract|device-compiler|clang-backend|compress|device-debug)(=.*)?"
)
# What asks for something that is not done here: said, since the result is another one.
_REFUSED = re.compile(r"--(override-image|embed-bitcode|print-wrapped-module)(=.*)?")
_REMARKS = re.compile(r"--pass-remarks.*")


def is_meant(program: str, words: Sequence[str]) -> bool:
    """Whether omptool is called by that name, or `omptool link` with its arguments."""
    own = words[: words.index("--")] if "--" in words else words
    return Path(program).name.startswith(NAME) or any(word.startswith(_LINKER) for word in own)


def translated(words: Sequence[str]) -> list[str]:
    """The arguments of `omptool link`. Raises UsageError for those that it cannot follow."""
    options: list[str] = []
    command: list[str] = []
    linker = ""
    after = iter(words)
    for word in after:
        if word.startswith(_LINKER):
            linker = word.removeprefix(_LINKER)
        elif word == "-mllvm":  # for LLVM inside clang's wrapper
            next(after, "")
        elif _REFUSED.fullmatch(word):
            raise UsageError(f"{word}: omptool's stand-in for {NAME} does not do that")
        elif word != "--" and not _INNER.fullmatch(word) and not _REMARKS.fullmatch(word):
            known = list(_option(word))
            options += known
            command += [] if known else [word]
    if not linker:
        raise UsageError(f"{_LINKER}LINKER says which linker to call, and is not there")
    return [*options, "--", linker, *command]


def _option(word: str) -> Iterator[str]:
    """The same option of `omptool link`; nothing for a word of the linker's."""
    library, level = _LIBRARY.fullmatch(word), _LEVEL.fullmatch(word)
    if library:
        yield from ("--device-lib", library[1])
    elif level:
        yield f"-O{level[1]}"
    elif word.startswith("--device-linker="):
        yield word
    elif word == "--save-temps":
        yield "--save-temps=."
    elif word in ("--wrapper-verbose", "--verbose"):
        yield "-v"
    elif word == "--dry-run":
        yield word
