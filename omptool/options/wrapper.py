# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The common part of `emit` and `bundle`: their options and reports."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from omptool.console import echo, shown
from omptool.errors import reported
from omptool.options.paths import FILE
from packager.generations import NAMES, listed
from packager.model import Finding

if TYPE_CHECKING:
    from packager.hosts.host_file import HostFile
    from packager.layouts import WrittenAbi
    from packager.writers.entries import EntrySource
    from packager.writers.requests import ImageRequest

# Size from which a copy takes a second or more on a slow disk.
WORTH_A_BAR = 1 << 28

LLVM = "llvm"  # LLVM's ABI in the host's generation
ABIS = ("interface", "proposal", LLVM, *NAMES)

Command = TypeVar("Command", bound=Callable[..., Any])


class WithResponseFiles(click.Command):
    """A command that reads words from @FILE: a command line may be too short for all images."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, with the words of response files in place of each @FILE."""
        if any(word.startswith("@") for word in args):
            from packager.files.response_files import opened

            with reported("arguments"):
                args = list(opened(args))
        return super().parse_args(ctx, args)


def wrapping_options(entries_help: str) -> Callable[[Command], Command]:
    """Return a decorator that adds the options --image, --entries, --abi, --force and -o."""
    options = [
        click.option(
            "--image",
            "images",
            multiple=True,
            required=True,
            metavar="T[:ARCH]=FILE",
            help="A device image for triple T (repeatable; device numbers follow this order).",
        ),
        click.option("--entries", metavar="auto|FILE", help=entries_help),
        click.option(
            "--abi",
            type=click.Choice(ABIS),
            help="ABI to write: interface (omptarget.h), proposal (libtarget.h of 2013), "
            f"{listed()} (clang), or llvm (HOST's generation). Default: that of HOST's "
            "entries, or interface.",
        ),
        click.option("--force", is_flag=True, help="Write OUT even if verify finds an error."),
        click.option(
            "-o", "--output", "out", type=FILE, required=True,
            metavar="OUT", help="The file to write.",
        ),
    ]  # fmt: skip

    def decorate(function: Command) -> Command:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def entry_list(entries: str | None) -> list[Path]:
    """Return the file that --entries names, if any."""
    return [] if entries in (None, "auto", "-") else [Path(str(entries))]


def entry_source(entries: str | None) -> EntrySource:
    """Return the entry source that --entries names, for packager.writers.bundle; read its file."""
    if entries is None:
        return "host"
    if entries == "auto":
        return "auto"
    from packager.writers.entries import read_list

    with reported(Path(entries) if entries else "--entries ''"):
        return read_list(Path(entries))


def written_abi(name: str | None, host: HostFile | None) -> WrittenAbi:
    """Return the ABI that --abi names.

    "llvm" is LLVM's in the host's generation, and None the ABI of the host's entries.
    """
    from packager.layouts import WRITTEN
    from packager.writers.generation import of_entries, of_host

    if name is None:
        return of_entries(host) if host else WRITTEN["interface"]
    if name != LLVM:
        return WRITTEN[name]
    if host is None:
        raise click.UsageError("--abi llvm is HOST's generation, and emit has no HOST: name one")
    return of_host(host)


def warn_of_triples(requests: Iterable[ImageRequest]) -> None:
    """Warn of triples that look misspelt, and note those that omptool does not know."""
    from packager.triples import is_known, likely_meant

    for request in requests:
        meant = likely_meant(request.triple)
        if meant:
            echo(f"Warning: triple {request.triple}: did you mean {meant}?", err=True)
        elif not is_known(request.triple):
            what = "only its plugin can check images for it"
            echo(f"Note: triple {request.triple} is unknown: {what}", err=True)


def report(out: Path, findings: Sequence[Finding]) -> None:
    """Print verify's errors and warnings about a written result on stderr."""
    for finding in findings:
        if finding.severity != "info":
            echo(f"{shown(out)}: {finding.code} {finding.severity}: {finding.message}", err=True)


def _size(path: Path) -> int:
    """Return the bytes to copy; 0 if unknown. Readers of the file report the error."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


@contextmanager
def progress(paths: Iterable[Path]) -> Iterator[Callable[[int], None]]:
    """Yield a function that adds copied bytes, and shows a bar if there are many."""
    total = sum(map(_size, paths))
    if total < WORTH_A_BAR or not sys.stderr.isatty():
        yield lambda _size: None
        return
    with click.progressbar(length=total, file=sys.stderr, label="copying images") as bar:
        yield bar.update
