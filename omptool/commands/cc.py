# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool cc`: sources to objects and programs with device code."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import click

from omptool.console import echo
from omptool.errors import reported
from omptool.installation import LIBRARY, includedir, libdir
from omptool.options.completing import triples
from omptool.options.linking import cache_of, end_as, expect_files, tools, warn
from omptool.options.paths import FILE, FOLDER
from omptool.options.wrapper import entry_source
from packager.errors import PackagerError, UsageError

GIVEN = "omptool.cc.words"  # all words of the command
INPUTS = 2  # the exit code of what no compiler has a part in


class CompileOptions(click.Command):
    """Its own options are taken from among the compiler's, up to `--`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse omptool's options, and the compiler's words after `--`."""
        ctx.meta[GIVEN] = tuple(args)
        own, others = self._parted(ctx, args)
        if ctx.resilient_parsing:
            return super().parse_args(ctx, args)
        return super().parse_args(ctx, [*own, "--", *others])

    def _parted(self, ctx: click.Context, args: Sequence[str]) -> tuple[list[str], list[str]]:
        options = {
            name: isinstance(p, click.Option) and not p.is_flag
            for p in self.get_params(ctx)
            for name in p.opts
        }
        own: list[str] = []
        others: list[str] = []
        words = _opened(args)
        for word in words:
            if word == "--":
                others += words
            elif word in options:
                own += [word, *_value(words, takes=options[word])]
            elif word.startswith("--") and options.get(word.partition("=")[0]):
                own.append(word)
            else:
                others.append(word)
        return own, others


def _opened(args: Sequence[str]) -> Iterator[str]:
    """Return the words with those of each @FILE in its place: options may be there, too."""
    if not any(word.startswith("@") for word in args):
        return iter(args)
    from packager.files.response_files import opened

    with reported("arguments"):
        return iter(list(opened(args)))


def _value(words: Iterator[str], *, takes: bool) -> Iterator[str]:
    following = next(words, None) if takes else None
    if following is not None:
        yield following


@click.command(cls=CompileOptions)
@click.option("--triple", "triples", multiple=True, metavar="T[:ARCH]", shell_complete=triples,
              help="A device to compile for (repeatable; default: the CPU here).")  # fmt: skip
@click.option("--cc", metavar="COMPILER", help="The compiler for the host and the devices.")
@click.option("--device-compiler", "compilers", multiple=True, metavar="T=COMPILER",
              help="Another clang for the devices of a triple (repeatable).")  # fmt: skip
@click.option("--entries", metavar="auto|FILE",
              help="Entries of kernels in LLVM IR, as for `omptool bundle`.")  # fmt: skip
@click.option("--device-lib", "libraries", type=FILE, multiple=True, metavar="FILE",
              help="Bitcode of functions that device code calls (repeatable).")  # fmt: skip
@click.option("--ptx", "keeps_ptx", is_flag=True,
              help="Leave PTX to the driver, even where ptxas could assemble it.")  # fmt: skip
@click.option("--keep", "kept", type=FOLDER, metavar="DIR",
              help="Keep intermediate files in DIR (default: delete them).")  # fmt: skip
@click.option("--no-rpath", is_flag=True, help="Leave the folder of libomptarget out of RUNPATH.")
@click.option("--force", is_flag=True, help="Keep the result even if verify finds an error.")
@click.option("--dry-run", is_flag=True, help="Show the commands, and run none.")
@click.argument("words", metavar="[--] ARGUMENTS...", nargs=-1, required=True)
def command(words: tuple[str, ...], **chosen: Any) -> None:
    """Compile sources of C, C++ and Fortran for the host and for devices, and link them.

    ARGUMENTS are a compiler's: sources, objects, libraries and any options, with -c for objects
    alone. The first may be the compiler. LLVM IR (.ll, .bc) among the sources holds kernels.

    Exits as a compiler or linker that failed; 1 when verify finds an error in the result (which is
    removed), 2 for wrong usage or inputs that do not fit, 3 when a compiler or linker is missing.
    """
    given: tuple[str, ...] = click.get_current_context().meta.get(GIVEN, ())
    end_as(lambda: _build(words, given, **chosen))


def _build(words: tuple[str, ...], given: tuple[str, ...], **chosen: Any) -> int:
    from packager.compiling.build import build
    from packager.compiling.command import parse
    from packager.compiling.compilers import words_of
    from packager.compiling.known_commands import remember
    from packager.compiling.options import Options
    from packager.compiling.targets import targets

    expect_files(chosen["libraries"])
    parsed = parse(words, words_of(chosen["cc"] or ""))
    if parsed.triples and chosen["triples"]:
        raise UsageError("--triple and clang's own option both name devices: use one of them")
    triples = chosen["triples"] or parsed.triples or (_host(parsed.host),)
    wanted = targets(triples, chosen["compilers"])
    warned: list[str] = []

    def hear(line: str) -> None:
        warned.append(line)
        warn(line)

    options = Options(
        wanted,
        includedir(),
        libdir() / LIBRARY,
        hear,
        entry_source(chosen["entries"]),
        chosen["libraries"],
        chosen["keeps_ptx"],
        chosen["force"],
        sets_rpath=not chosen["no_rpath"],
        cache=cache_of(is_asked=False),
    )
    is_shown = chosen["dry_run"] or parsed.is_shown
    with tools(chosen["kept"], is_shown=is_shown, is_dry=chosen["dry_run"]) as working:
        if parsed.is_shown:
            _tell(parsed.choice)
        try:
            code = build(parsed, options, working)
        except PackagerError as error:
            if error.exit_code != INPUTS:
                _tell(parsed.choice)
            raise
        if code:
            _tell(parsed.choice)
        elif parsed.end == "object" and not warned and len(parsed.compiler) == 1:
            remember(given, working.passed_on, parsed.choice)
        return code


def _tell(choice: str) -> None:
    """Print which compiler was chosen, if the user did not name it."""
    if choice:
        echo(f"omptool: {choice}", err=True)


def _host(named: str) -> str:
    """Return the named triple, or that of this machine if `named` is empty."""
    from packager.triples import normalise

    return named or normalise(os.uname().machine)
