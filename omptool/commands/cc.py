"""`omptool cc`: sources to objects and programs with device code."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from omptool.installation import LIBRARY, includedir, libdir
from omptool.options.linking import end_as, expect_files, tools, warn
from omptool.options.paths import FILE, FOLDER
from omptool.options.wrapper import entry_source
from packager.errors import UsageError

NEWEST, OLDEST = 30, 14  # of the clangs that are looked for
SCRIPT = 1 << 16  # what is read of one


class CompileOptions(click.Command):
    """Its own options are taken from among the compiler's, up to `--`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Its own options, and behind `--` the compiler's words."""
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
        words = iter(args)
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


def _value(words: Iterator[str], *, takes: bool) -> Iterator[str]:
    following = next(words, None) if takes else None
    if following is not None:
        yield following


@click.command(cls=CompileOptions)
@click.option("--triple", "triples", multiple=True, metavar="T[:ARCH]",
              help="A device to compile for (repeatable; default: the CPU here).")  # fmt: skip
@click.option("--cc", metavar="COMPILER", help="The host's compiler, and that of the devices.")
@click.option("--device-compiler", "compilers", multiple=True, metavar="T=COMPILER",
              help="Another clang for the devices of a triple (repeatable).")  # fmt: skip
@click.option("--entries", metavar="auto|FILE",
              help="Entries of kernels in LLVM IR, as for `omptool bundle`.")  # fmt: skip
@click.option("--device-lib", "libraries", type=FILE, multiple=True, metavar="FILE",
              help="Bitcode of functions that device code calls (repeatable).")  # fmt: skip
@click.option("--ptx", "keeps_ptx", is_flag=True,
              help="Leave PTX to the driver, even where ptxas could assemble it.")  # fmt: skip
@click.option("--keep", "kept", type=FOLDER, metavar="DIR",
              help="Keep what is made on the way in DIR.")  # fmt: skip
@click.option("--force", is_flag=True, help="Keep the result even if verify finds an error.")
@click.option("--dry-run", is_flag=True, help="Show the commands, run none.")
@click.argument("words", metavar="[--] ARGUMENTS...", nargs=-1, required=True)
def command(words: tuple[str, ...], **chosen: Any) -> None:
    """Compile sources for the host and for devices, and link them.

    ARGUMENTS are a compiler's: sources, objects, libraries and any options, with -c for objects
    alone. The first may be the compiler. LLVM IR (.ll, .bc) among the sources is kernels.

    Exits as the compiler or linker does that failed; 1 when the result was found wanting, 2 for
    wrong usage or inputs that do not fit, 3 when a compiler or linker is missing.
    """
    end_as(lambda: _build(words, **chosen))


def _build(words: tuple[str, ...], **chosen: Any) -> int:
    from packager.compiling.build import Options, build
    from packager.compiling.command import parse
    from packager.compiling.targets import targets, words_of

    expect_files(chosen["libraries"])
    parsed = parse(words, words_of(chosen["cc"] or ""), _found)
    if parsed.triples and chosen["triples"]:
        raise UsageError("devices are named by --triple and by clang's own option: choose one")
    triples = chosen["triples"] or parsed.triples or (_host(parsed.host),)
    wanted = targets(triples, chosen["compilers"])
    options = Options(
        wanted,
        includedir(),
        libdir() / LIBRARY,
        warn,
        entry_source(chosen["entries"]),
        chosen["libraries"],
        chosen["keeps_ptx"],
        chosen["force"],
    )
    is_shown = chosen["dry_run"] or parsed.is_shown
    with tools(chosen["kept"], is_shown=is_shown, is_dry=chosen["dry_run"]) as working:
        return build(parsed, options, working)


def _host(named: str) -> str:
    """The triple of the host, where the devices are not named."""
    return named or f"{platform.machine()}-pc-linux-gnu"


def _found(is_cxx: bool) -> list[str]:
    """The compiler that nobody named: CC or CXX, a clang, or else the machine's."""
    from packager.compiling.targets import words_of

    named = words_of(os.environ.get("CXX" if is_cxx else "CC", ""))
    if named and not _is_this(named):
        return named
    clang, other = ("clang++", "c++") if is_cxx else ("clang", "cc")
    names = [clang, *(f"{clang}-{release}" for release in range(NEWEST, OLDEST - 1, -1))]
    return [next((name for name in names if shutil.which(name)), other)]


def _is_this(named: Sequence[str]) -> bool:
    """Whether `named` is this command: `make CC="omptool cc"` exports it to what it starts."""
    from packager.linking.host_command import program_at

    if any(Path(word).name == "omptool" for word in named):
        return True
    found = shutil.which(named[program_at(named)])
    try:
        with Path(found or os.devnull).open("rb") as file:  # a script around it?
            return file.read(2) == b"#!" and b"omptool" in file.read(SCRIPT)
    except OSError:  # it may be started, and not read
        return False
