# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parse a compiler's command: its sources, and the kind of its result."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from itertools import pairwise
from pathlib import Path
from typing import Literal

from packager.compiling import fortran
from packager.compiling.compilers import Compiler, is_known, named, unnamed
from packager.compiling.targets import device_of
from packager.errors import UsageError
from packager.files.response_files import opened
from packager.linking.host_command import program_at
from packager.processes.programs import anywhere
from packager.records import NamedTuple

# Result of a compiler command. "code" is an object's content in another form; "text" is made before
# host and devices are compiled apart, e.g. preprocessed text; "other" is the answer to a query.
End = Literal["object", "program", "code", "text", "other"]
Kind = Literal["source", "fortran", "assembly", "kernels", "header", "foreign", "input"]

CXX = (".C", ".cc", ".cp", ".cpp", ".cxx", ".c++", ".ii")
SUFFIXES: dict[str, Kind] = {
    **dict.fromkeys((".c", ".i", *CXX), "source"),
    **dict.fromkeys((".s", ".S", ".sx"), "assembly"),
    **dict.fromkeys((".ll", ".bc"), "kernels"),
    **dict.fromkeys((".h", ".H", ".hh", ".hp", ".hpp", ".hxx", ".h++"), "header"),
    **dict.fromkeys((".f", ".for", ".f90", ".f95", ".f03", ".f08"), "fortran"),
    **dict.fromkeys((".F", ".FOR", ".F90", ".F95", ".F03", ".F08"), "fortran"),
    **dict.fromkeys((".f77", ".F77", ".cu", ".hip", ".cl", ".m", ".mm"), "foreign"),
}
# Values of -x by their first letters; all others are of C and related languages.
LANGUAGES: dict[str, Kind] = {
    "ir": "kernels",
    "assembler": "assembly",
    **dict.fromkeys(("f77", "f95", "fortran"), "fortran"),
    **dict.fromkeys(("cuda", "hip", "cl", "objective"), "foreign"),
}
INPUTS = re.compile(r".*\.(o|obj|a|so|lo)(\.\d+)*")  # names that no compiler has
# Options with a separate value, which is no source.
TAKES_WORD = re.compile(
    r"-([oxILDUFTuzelBGJ]|module-dir|fintrinsic-modules-path|M[FTQJ]|include|imacros|isystem|iquote|idirafter|isysroot|iprefix|"
    r"iwithprefix|iwithprefixbefore|iwithsysroot|iframework|isystem-after|cxx-isystem|include-pch|"
    r"stdlib\+\+-isystem|resource-dir|mthread-model|dependency-(dot|file)|wrapper|T(bss|data|text)|"
    r"target|arch|mllvm|aux-info|dumpbase|dumpdir|rpath|"
    r"X(clang|linker|assembler|preprocessor|analyzer|clang-linker|cuda-.*|arch_.*|offload-linker.*|"
    r"openmp-target.*)"
    r"|ivfsoverlay|working-directory)|--(param|sysroot|include|prefix|config|serialize-diagnostics)"
)
# These options make the compiler answer a query; the command is passed on unchanged.
OTHER = re.compile(
    r"-(dump(machine|version|fullversion|specs)|print-.*)|"
    r"--(version|help.*|print-.*|target-help)|--?(cc1|cc1as)"
)
TEXT = re.compile(r"-(E|M|MM|emit-ast)|--(analyze|precompile)")
CODE = re.compile(r"-(S|fsyntax-only|###|emit-llvm)")
FOR_LINK = re.compile(
    r"-(l.*|L.*|Wl,.*|shared|static.*|pie|no-pie|rdynamic|s|nostdlib|nodefaultlibs|nostartfiles|"
    r"fuse-ld=.*|rtlib=.*|shared-libgcc|Xlinker|[Tuze]|rpath)|--ld-path=.*|--rtlib=.*"
)
# Options that a driver rejects in a link, and options whose value looks like an input there.
FOR_OBJECTS = re.compile(r"-Wa,.*|-Xassembler|-(i(quote|dirafter|withprefix|withprefixbefore))")
RULES = re.compile(r"-M(D|MD|P|G|V|[FTQJ].*)")
LANGUAGE = re.compile(r"-x.*")
WHERE = re.compile(r"-c|-o(?!bjc).*")
STANDARD_INPUT = "-"
LONG = {"--compile": "-c", "--assemble": "-S", "--preprocess": "-E", "--output": "-o"}
TARGETS = "-fopenmp-targets="  # the last one counts
ARCHS = ("--offload-arch=", "-offload-arch=")  # without it they say for what, too
LEVELS = {"": 1, "g": 1, "s": 2, "z": 2, "fast": 3}
MOST = 3  # highest level of LLVM


MADE: tuple[Kind, ...] = ("source", "fortran", "assembly")  # kinds that are compiled to objects


class Input(NamedTuple):
    """A file named in the command, with the word that names it."""

    path: Path
    word: int
    kind: Kind


class CompileCommand(NamedTuple):
    """A compiler's command, in the parts that a compilation for devices needs."""

    compiler: tuple[str, ...]
    words: tuple[str, ...]  # behind it, without those that name devices
    triples: tuple[str, ...]  # targets of the device options
    host: str  # the triple of --target, or ""
    inputs: tuple[Input, ...]
    end: End
    output: Path | None
    is_cxx_found: bool = False  # the compiler is that of C++, and the command does not name it
    choice: str = ""  # a line about who chose the compiler; "" if the user did
    fortran: tuple[str, ...] = ()  # the compiler of Fortran, if the command has sources of it

    def of_kind(self, kind: Kind) -> list[Input]:
        """Return the inputs of one kind."""
        return [item for item in self.inputs if item.kind == kind]

    def compiling(self, *, device: bool = False) -> list[str]:
        """Return the options that compile one source, without its name and output.

        With `device`, omit the options that request dependency rules for make.
        """
        dropped = [RULES] if device else []
        dropped += [FOR_LINK] if self.end == "program" else []
        return [word for _, word in self._kept(*dropped)]

    def linking(self, objects: Sequence[Path]) -> list[str]:
        """Return the whole command with objects in place of the sources."""
        sources = [item.word for item in self.inputs if item.kind in MADE]
        made = dict(zip(sources, objects, strict=True))
        named = {item.word: str(item.path) for item in self.inputs if item.kind == "input"}
        words: dict[int, str] = dict(self._kept(RULES, LANGUAGE, FOR_OBJECTS))
        words |= named | {at: str(path) for at, path in made.items()}
        output = ["-o", str(self.output)] if self.output else []
        return [*self.driver, *(words[at] for at in sorted(words)), *output]

    @property
    def driver(self) -> tuple[str, ...]:
        """Return the compiler driver for the link: the Fortran one if there is Fortran.

        Only a Fortran driver links the Fortran runtime libraries.
        """
        return self.fortran or self.compiler

    @property
    def level(self) -> int:
        """Return how much is optimised, as LLVM counts."""
        said = [word[2:] for word in self.words if re.fullmatch(r"-O(\d|g|s|z|fast)?", word)]
        if not said:
            return 2
        return LEVELS[said[-1]] if said[-1] in LEVELS else min(int(said[-1]), MOST)

    @property
    def is_shown(self) -> bool:
        """Return whether the compiler, and so omptool, prints the commands that it starts."""
        return any(self.words[at] == "-v" for at, _ in _options(self.words))

    @property
    def ptxas(self) -> tuple[str, ...]:
        """Return the options for ptxas, which the device link runs for bitcode."""
        return tuple(word for option, word in pairwise(self.words) if option == "-Xcuda-ptxas")

    @property
    def names_processors(self) -> bool:
        """Return whether clang's own options may name the processors of a GPU."""
        return any(word.startswith(("-march=", "-Xopenmp-target")) for word in self.words)

    def _kept(self, *dropped: re.Pattern[str]) -> Iterator[tuple[int, str]]:
        """Yield each option with its index, without outputs and those that `dropped` matches."""
        inputs = {item.word for item in self.inputs}
        for first, count in _options(self.words):
            word = self.words[first]
            if first not in inputs and not any(p.fullmatch(word) for p in (WHERE, *dropped)):
                yield from enumerate(self.words[first : first + count], first)


def parse(
    words: Sequence[str],
    compiler: Sequence[str],
    default: Callable[[bool], Compiler] = unnamed,
    default_fortran: Callable[[], Compiler] = fortran.unnamed,
) -> CompileCommand:
    """Parse the arguments of a compiler's command.

    The first word may be the compiler, if `compiler` is empty. Languages that it cannot compile get
    the compiler that `default` returns for C++ or C, or `default_fortran` for Fortran. Raises
    UsageError if several sources have one output or a source is in another language, and
    MissingToolError if there is no Fortran compiler.
    """
    given = list(_plain(opened(words)))
    if not compiler:
        compiler, given = _leading(given)
    devices, given = _devices(given)
    inputs = tuple(_inputs(given))
    is_cxx = any(item.path.suffix in CXX for item in inputs)
    kinds = {item.kind for item in inputs}
    of_fortran = _of_fortran(compiler, kinds, default_fortran)
    is_alone = bool(of_fortran.words) and kinds.isdisjoint(("source", "assembly", "header"))
    if is_alone:
        chosen = of_fortran
    elif compiler and not fortran.is_fortrans(compiler):
        chosen = named(compiler)
    else:
        chosen = default(is_cxx)
    end, output = _end(given, inputs), _output(given)
    # Triple of the host compiler.
    host = value_of([*chosen.words, *given], "--target=", "-target")
    is_found = is_cxx and not compiler
    choices = dict.fromkeys(filter(None, (chosen.choice, of_fortran.choice)))
    command = CompileCommand(
        *(chosen.words, tuple(given), devices, host, inputs, end, output, is_found),
        choice="; for Fortran, ".join(choices),
        fortran=of_fortran.words,
    )
    foreign = [item.path for item in inputs if item.kind == "foreign"]
    if foreign and end in ("object", "program"):
        what = "is not C, C++ or Fortran: make an object of it with its own compiler, and link that"
        raise UsageError(what, foreign[0])
    if "fortran" in kinds and not is_alone and end in ("code", "text"):
        raise UsageError("is Fortran beside another language: give each a command", _first(inputs))
    sources = [item for item in inputs if item.kind in MADE]
    if len(sources) > 1 and end == "object" and command.output:
        raise UsageError("-o names one object, and there are several sources")
    if len(sources) > 1 and any(word.startswith("-MJ") for word in given):
        raise UsageError("-MJ is a file for one source, and there are several")
    return command


def _of_fortran(
    compiler: Sequence[str], kinds: Set[Kind], default: Callable[[], Compiler]
) -> Compiler:
    """Return the Fortran compiler: the user's, or the default one for Fortran sources."""
    if fortran.is_fortrans(compiler):
        return Compiler(tuple(compiler))
    return default() if "fortran" in kinds else Compiler(())


def _first(inputs: Sequence[Input]) -> Path:
    return next(item.path for item in inputs if item.kind == "fortran")


def _plain(words: Iterable[str]) -> Iterator[str]:
    """Yield the words, with long and driver spellings of an option in its short form."""
    for word in words:
        if word.startswith(("-Wp,-MD,", "-Wp,-MMD,")):
            _, option, file = word.split(",", 2)
            yield from (option, "-MF", file)
        elif word.startswith("--output="):
            yield from ("-o", word.removeprefix("--output="))
        elif word != "--":  # only inputs are behind it
            yield LONG.get(word, word)


def _devices(words: Sequence[str]) -> tuple[tuple[str, ...], list[str]]:
    """Split off clang's own device options: return the last one's targets, and the other words."""
    triples = [word.split("=", 1)[1] for word in words if word.startswith(TARGETS)]
    if triples:
        return tuple(triples[-1].split(",")), [w for w in words if not w.startswith(TARGETS)]
    archs = [word.split("=", 1)[1] for word in words if word.startswith(ARCHS)]
    devices = tuple(device_of(arch) for text in archs for arch in text.split(","))
    return devices, [word for word in words if not word.startswith(ARCHS)]


def value_of(words: Sequence[str], *options: str) -> str:
    """Return the last value of an option, joined or separate; "" if the option is absent."""
    found = ""
    for first, count in _options(words):
        for option in options:
            if words[first] == option and count > 1:
                found = words[first + 1]
            elif words[first].startswith(option) and words[first] != option:
                found = words[first].removeprefix(option)
    return found


def _end(words: Sequence[str], inputs: Sequence[Input]) -> End:
    options = [words[first] for first, _ in _options(words)]
    if any(OTHER.fullmatch(word) for word in options) or not inputs:
        return "other"
    kinds = {item.kind for item in inputs}
    is_header = "header" in kinds and kinds.isdisjoint(MADE)  # the header is precompiled
    if is_header or any(TEXT.fullmatch(word) for word in options):
        return "text"
    if any(CODE.fullmatch(word) for word in options):
        return "code"
    return "object" if "-c" in options else "program"


def _leading(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split the arguments into the compiler at their start and the rest."""
    at = program_at(words) if words else 0
    if words and _is_program(words[at]):
        return list(words[: at + 1]), list(words[at + 1 :])
    return [], list(words)


def _is_program(word: str) -> bool:
    is_file = Path(word).suffix in SUFFIXES or INPUTS.fullmatch(word)
    if word.startswith("-") or is_file:
        return False
    return anywhere(word) is not None or is_known(word)


def _options(words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the index and number of arguments of each option or input."""
    at = 0
    while at < len(words):
        count = 2 if TAKES_WORD.fullmatch(words[at]) and at + 1 < len(words) else 1
        yield at, count
        at += count


def _inputs(words: Sequence[str]) -> Iterator[Input]:
    language = ""
    for at, count in _options(words):
        word = words[at]
        if word == "-x" and count > 1:
            language = words[at + 1].removeprefix("none")
        elif word.startswith("-x") and word != "-x":
            language = word[2:].removeprefix("none")
        elif word == STANDARD_INPUT or not word.startswith(("-", "@")):
            yield Input(Path(word), at, _kind(word, language))


def _kind(word: str, language: str) -> Kind:
    if language.endswith("-header"):
        return "header"
    if language:
        return next((LANGUAGES[one] for one in LANGUAGES if language.startswith(one)), "source")
    if word == STANDARD_INPUT:  # -E needs no language
        return "source"
    return SUFFIXES.get(Path(word).suffix, "input")


def _output(words: Sequence[str]) -> Path | None:
    found = None
    for at, count in _options(words):
        if WHERE.fullmatch(words[at]) and words[at] != "-c":
            found = Path(words[at + 1] if count > 1 else words[at][2:])
    return found
