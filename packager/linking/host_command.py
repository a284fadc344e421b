# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command that links a host program: which of its words are inputs, folders and libraries.

The command is a compiler's driver (`cc a.o -o app`) or a linker (`ld …`), as binutils, lld and mold
spell their options.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from packager.errors import UsageError
from packager.files.portable import exists
from packager.files.response_files import opened
from packager.records import NamedTuple

LINKER = re.compile(r"(.+-)?(ld|gold|mold)([.-].*)?|lld([.-]\d+)?")
SOURCE = re.compile(r".*\.(c|cc|cpp|cxx|C|f|f90|F90|cu|hip|s|S|ll|i|ii)")
# Options with a separate value, which is no input.
TAKES_WORD = re.compile(
    r"-(o|e|u|z|T|h|m|y|I|R|x|B|D|U|G|F|A|b|Y|M[FTQ]|X(clang|assembler|preprocessor))|"
    r"--?(output|soname|rpath|rpath-link|dynamic-linker|Map|plugin|plugin-opt|target|arch|include|"
    r"isystem|idirafter|iquote|imacros|mllvm|version-script|dynamic-list|init|fini|sysroot|defsym|"
    r"wrap|undefined|entry|"
    r"require-defined|script|default-script|trace-symbol|format|oformat|section-start|T(text|data|"
    r"bss)|exclude-libs|retain-symbols-file|just-symbols|export-dynamic-symbol(-list)?|param)"
)
# These options decide which libraries a later -l finds.
STATIC = ("-Bstatic", "-dn", "-non_shared", "-static", "--static")
DYNAMIC = ("-Bdynamic", "-dy", "-call_shared")
IN_SYSROOT = ("=", "$SYSROOT")  # begins of -L
# Clang's libraries for all processors: joins of bitcode look them up themselves.
DEVICE_LIBRARIES = ("libomptarget.devicertl.a", "libompdevice.a")
RUNTIME = re.compile(r"libomptarget\.(?!devicertl)")  # files of LLVM's or omptool's
LIBOMP = {"omp", "iomp5"}  # -l of LLVM's OpenMP library
PASSING = "-Xlinker"  # the next word is the linker's
# Words with these prefixes are also passed to the link of a CPU's device image.
SHARED_BY_DRIVER = ("-fuse-ld=", "--ld-path=", "-B", "--sysroot", "-m64", "--target=", "-stdlib=",
    "--gcc-toolchain=", "--gcc-install-dir=", "-fopenmp")  # fmt: skip
SHARED_BY_LINKER = ("--sysroot", "--hash-style=", "-rpath-link")
# Programs that may precede the driver or linker; `env` also takes assignments.
PREFIXES = ("env", "ccache", "sccache", "distcc", "icecc", "nice", "time")
ENV_TAKES_WORD = ("-u", "-C", "--unset", "--chdir")
# Options with which clang's driver would build images itself; they are removed.
OFFLOADING = re.compile(r"-fopenmp-targets=.*|--?offload-arch=.*|-foffload-lto.*|-fno-offload-lto")
OFFLOADING_PAIRS = re.compile(r"-Xopenmp-target(=.*)?|-Xoffload-linker.*")


class Given(NamedTuple):
    """A file or library as the command has it."""

    word: int  # index in the command
    text: str


class Input(NamedTuple):
    """An input of the link: an object, an archive, or a file that only the linker knows."""

    path: Path
    word: int  # index in the command
    is_whole: bool  # an archive whose members are all linked

    @property
    def given(self) -> Given:
        """Return the input as the command has it."""
        return Given(self.word, str(self.path))


class Library(NamedTuple):
    """A library that -l names: libNAME.so or libNAME.a, or with a colon a file."""

    name: str
    word: int  # index in the command
    is_whole: bool  # all members are linked
    is_static: bool  # only an archive will do

    @property
    def given(self) -> Given:
        """Return the library as the command has it."""
        return Given(self.word, f"-l{self.name}")


class Option(NamedTuple):
    """A word that the linker sees, with the index of the command's word."""

    text: str
    word: int


class HostCommand(NamedTuple):
    """A link command, in the parts that a device link needs."""

    words: tuple[str, ...]  # response files are opened, clang's offloading options gone
    options_at: int  # the first word behind the program's name
    is_driver: bool
    output: Path
    inputs: tuple[Input, ...]
    folders: tuple[Path, ...]  # -L
    libraries: tuple[Library, ...]  # -l
    is_relocatable: bool
    is_static: bool  # the whole program is static
    sysroot: str
    leading: tuple[str, ...] = ()  # options to be put in front of all others

    @property
    def names_runtime(self) -> bool:
        """Return whether the command names an OpenMP offloading runtime."""
        names = [library.name for library in self.libraries]
        files = [item.path.name for item in self.inputs]
        return "omptarget" in names or any(
            RUNTIME.match(name.removeprefix(":")) for name in (*names, *files)
        )

    @property
    def names_libomp(self) -> bool:
        """Return whether the command names LLVM's OpenMP library after its first input."""
        names = [one.name for one in self.libraries if one.word > self._first]
        files = [item.path.name for item in self.inputs]
        return not LIBOMP.isdisjoint(names) or any(
            name.startswith(f"lib{omp}.") for name in files for omp in LIBOMP
        )

    def passed(self, *options: str) -> tuple[str, ...]:
        """Return options for the linker in the form that the command accepts."""
        if not self.is_driver:
            return options
        return tuple(word for option in options for word in (PASSING, option))

    def with_words(self, first: Sequence[str], last: Sequence[str]) -> list[str]:
        """Return the command with words before its first input, and after its last one."""
        at, begin = self.options_at, self._first
        end = max([begin, *(item.word + 1 for item in self._there)])
        before = [*self.words[:at], *self.leading, *self.words[at:begin]]
        return [*before, *first, *self.words[begin:end], *last, *self.words[end:]]

    def finding(self, folder: Path) -> tuple[str, ...]:
        """Return options that make the program find libraries in `folder` before all other folders.

        They must lead the command, because LLVM's folders also contain a libomptarget.so.
        """
        return self.passed("-rpath", str(folder))

    @property
    def _first(self) -> int:
        """Return the index of the word before which an input can be inserted.

        gold cannot begin with a wrapper's sections, so the input follows an object, but precedes
        archives.
        """
        if not self._there:
            return len(self.words)
        begin, path = min((item.word, item.path) for item in self._there)
        if path.suffix == ".o":
            return begin + 1
        return begin - 1 if self.is_driver and self.words[begin - 1] == PASSING else begin

    @property
    def _there(self) -> Sequence[Input]:
        # An unknown option may have a value that looks like an input.
        return [item for item in self.inputs if exists(item.path)] or self.inputs

    def shared(self) -> list[str]:
        """Return the words at the start of a link of a shared object for the same machine."""
        begins = SHARED_BY_DRIVER if self.is_driver else SHARED_BY_LINKER
        kept = list(self.words[: self.options_at])
        words = self.words[self.options_at :]
        paired = ("-B", "-target", "--sysroot", "-rpath-link", *(() if self.is_driver else ("-m",)))
        for word, following in zip(words, (*words[1:], ""), strict=True):
            if word in paired:
                kept += [word, following]
            elif word.startswith(begins):
                kept.append(word)
        return kept


def parse(words: Sequence[str]) -> HostCommand:
    """Parse a link command. Raises UsageError for a command that compiles, and for no command."""
    given = tuple(_without_offloading(list(opened(words))))
    if not given:
        raise UsageError("there is no command to link with: omptool link -- cc a.o -o app")
    program = program_at(given)
    is_driver = not LINKER.fullmatch(Path(given[program]).name)
    is_static = not {"-static", "--static", "-static-pie"}.isdisjoint(given)
    # A driver passes this option to its linker before all others.
    state = _State(is_driver and is_static)
    for option in _options(given, program + 1, is_driver):
        state.take(option)
    for item in state.inputs:
        if is_driver and SOURCE.fullmatch(str(item.path)) and exists(item.path):
            raise UsageError("is a source: compile it first (-c), then link the object", item.path)
    return HostCommand(
        given,
        program + 1,
        is_driver,
        state.output,
        tuple(state.inputs),
        tuple(state.searched()),
        tuple(state.libraries),
        state.is_relocatable,
        is_static,
        state.sysroot,
    )


class _State:
    """The link command as far as its words have been read."""

    def __init__(self, is_static: bool) -> None:
        self.output = Path("a.out")
        self.inputs: list[Input] = []
        self.libraries: list[Library] = []
        self.is_relocatable = False
        self._folders: list[str] = []
        self.sysroot = ""
        self._is_static = is_static
        self._is_whole = False
        self._before = ""

    def take(self, option: Option) -> None:
        """Parse the next word."""
        text, before, self._before = option.text, self._before, ""
        if before:
            self._take_value(before, text, option.word)
        elif TAKES_WORD.fullmatch(text) or text in ("-L", "-l", "--library", "--library-path"):
            self._before = text
        elif text.startswith(("-o", "--output=")) and not text.startswith("-omagic"):
            self.output = Path(text.removeprefix("--output=").removeprefix("-o"))
        elif text.startswith(("-L", "-l")):
            self._take_value(text[:2], text[2:], option.word)
        elif text.startswith(("--library=", "--library-path=")):
            name, value = text.split("=", 1)
            self._take_value(name, value, option.word)
        elif text in ("-r", "-i", "--relocatable", "-Ur"):
            self.is_relocatable = True
        elif text in (*STATIC, *DYNAMIC):
            self._is_static = text in STATIC
        elif text.startswith("--sysroot="):
            self.sysroot = text.removeprefix("--sysroot=")
        elif text in ("--whole-archive", "-whole-archive"):
            self._is_whole = True
        elif text in ("--no-whole-archive", "-no-whole-archive"):
            self._is_whole = False
        elif not text.startswith("-"):
            self.inputs.append(Input(Path(text), option.word, self._is_whole))

    def _take_value(self, option: str, value: str, word: int) -> None:
        if option in ("-o", "--output"):
            self.output = Path(value)
        elif option in ("-L", "--library-path"):
            self._folders.append(value)
        elif option in ("-l", "--library"):
            self.libraries.append(Library(value, word, self._is_whole, self._is_static))
        elif option == "--sysroot":
            self.sysroot = value

    def searched(self) -> Iterator[Path]:
        """Yield the folders of -L, with those in the sysroot expanded."""
        for folder in self._folders:
            begin = next((begin for begin in IN_SYSROOT if folder.startswith(begin)), None)
            yield Path(folder if begin is None else self.sysroot + folder.removeprefix(begin))


def is_device_library(path: Path) -> bool:
    """Return whether a link line names clang's device library for all processors here."""
    return path.name in DEVICE_LIBRARIES


def program_at(words: Sequence[str]) -> int:
    """Return the index of the driver or linker, which launchers and `env` may precede."""
    at = 0
    while at + 1 < len(words) and Path(words[at]).name in PREFIXES:
        is_env = Path(words[at]).name == "env"
        at += 1
        while is_env and at + 1 < len(words) and ("=" in words[at] or words[at].startswith("-")):
            at += 2 if words[at] in ENV_TAKES_WORD else 1
    return at


def _options(words: Sequence[str], start: int, is_driver: bool) -> Iterator[Option]:
    """Yield the words from `start` on, as the linker sees them."""
    after = iter(enumerate(words[start:], start))
    for number, word in after:
        if is_driver and word.startswith("-Wl,"):
            yield from (Option(text, number) for text in opened(word.split(",")[1:]))
        elif is_driver and word == PASSING:
            at, passed = next(after, (number, ""))
            yield from (Option(text, at) for text in opened([passed]))
        else:
            yield Option(word, number)


def _without_offloading(words: list[str]) -> Iterator[str]:
    """Yield the command without options that make clang's driver link images itself."""
    after = iter(words)
    for word in after:
        if OFFLOADING_PAIRS.fullmatch(word):
            next(after, "")
        elif not OFFLOADING.fullmatch(word):
            yield word
