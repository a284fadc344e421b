# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool dump`: the device images, entries and descriptors in files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from omptool.commands.dump.request import Request, numbers
from omptool.console import echo, echo_pieces
from omptool.options.colour import colour_option
from omptool.options.paths import INPUT
from omptool.options.wanted import wanted_options
from omptool.reading import Files
from packager.look import Look
from packager.questions.sorting import COLUMNS
from packager.questions.wanted import Wanted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omptool.commands.dump.many import Shown
    from packager.questions.offered import Offered


@click.command()
@click.argument("files", nargs=-1, required=True, type=INPUT, metavar="FILE...")
@click.option("--images", is_flag=True, help="Show the images.")
@click.option("--entries", is_flag=True, help="Show the entries and their state in each image.")
@click.option(
    "--descriptors", is_flag=True, help="Show each descriptor and the code that registers it."
)
@click.option("--kernels", is_flag=True, help="Show the kernels of each image.")
@click.option("--summary", is_flag=True, help="Show sums and the GPUs that run FILE; no tables.")
@wanted_options
@click.option(
    "--sort",
    type=click.Choice(COLUMNS),
    help="Order images and kernels by a column, numbers from the largest.",
)
@click.option("--no-demangle", is_flag=True, help="Show C++ names as they are in the images.")
@click.option("--wide", is_flag=True, help="Show all columns, and names of any length.")
@click.option(
    "--no-source", is_flag=True, help="Leave source files out, and read no debug information."
)
@click.option("--hash", "hashed", is_flag=True, help="Add the SHA-256 of each image.")
@click.option(
    "--address",
    "addresses",
    multiple=True,
    callback=numbers,
    metavar="ADDR",
    help="Show only the things at ADDR of the host or a device (repeatable).",
)
@click.option(
    "--against",
    type=INPUT,
    metavar="OLD",
    help="Show only the changes since OLD.",
)
@click.option("--exit-code", is_flag=True, help="With --against, exit 1 if something changed.")
@click.option(
    "--disassemble", metavar="KERNEL", help="Show only a kernel's code, by this machine's tools."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document, with everything.")
@colour_option
@click.pass_context
def command(ctx: click.Context, /, files: tuple[Path, ...], **options: Any) -> None:
    """Show the device images, offload entries and descriptors in each FILE.

    FILE is an object, archive, executable, shared library, package (.whl, .deb), bundle of images
    or bare image, stripped or not, or - for standard input. Kinds and archs come from the images'
    bytes. Without --images, --entries, --descriptors and --kernels, all but the kernels are shown.

    Exits 0 also for a file without offload code; 1 when no image or kernel matches --triple,
    --arch, --kind, --kernel or --disassemble, nothing is at an --address or, with --exit-code,
    something changed since --against; 2 when a file cannot be read or is malformed; 3 when this
    machine has no tool for --disassemble.
    """
    request = Request(**options)
    request.expect_one_question(files)
    ctx.exit(_answer(files, request))


def _answer(files: tuple[Path, ...], request: Request) -> int:
    """Print the answer to the request; return the exit code."""
    wanted = request.wanted()
    if request.disassemble is not None:
        from omptool.commands.dump import disassemble

        disassemble.show(files, wanted, request.disassemble)
        return 0
    offered = _offered(wanted)
    found = Files(files, request.look(), sourced=request.sourced(wanted), offered=offered)
    if request.addresses:
        from omptool.commands.dump import address

        return address.show(found, request.addresses)
    if request.against:
        from omptool.commands.dump import against

        before = Files([request.against], Look(hashed=True), offered=offered)
        differs = against.show(found, before, request, wanted)
        code = _ended(found.failed or before.failed, offered)
        return 1 if differs and request.exit_code and not code else code
    if request.summary:
        from omptool.commands.dump import summary

        summary.show(found, wanted, request.as_json)
    elif request.as_json:
        from omptool.render.dumped import dump_json

        echo_pieces(dump_json(found, found.errors, wanted))
    elif offered is None:
        from omptool.commands.dump.many import show_all

        def show(paths: Sequence[Path]) -> Shown:
            some = found.some(paths)
            has_printed = _tables(some, request, wanted)
            return some.failed, has_printed

        return _ended(show_all(files, show), offered)
    else:
        _tables(found, request, wanted)
    return _ended(found.failed, offered)


def _offered(wanted: Wanted) -> Offered | None:
    """Return the collector of suggestions if the user set conditions, else None."""
    if wanted.is_open:
        return None
    from packager.questions.offered import Offered

    return Offered(wanted)


def _ended(has_failed: bool, offered: Offered | None) -> int:
    """Report conditions that nothing meets; return the exit code."""
    if offered is None:
        return 2 if has_failed else 0
    for line in offered.lacks():
        echo(f"{'Warning' if offered.is_met else 'Error'}: {line}", err=True)
    return 2 if has_failed else 0 if offered.is_met else 1


def _tables(found: Files, request: Request, wanted: Wanted) -> bool:
    """Print the tables of the files; return whether there are any."""
    from omptool.render import dump

    parts = dump.Parts(*request.parts, request.wide, request.sort, not request.no_demangle, wanted)
    has_printed = False
    for binary in found:
        if has_printed:
            echo("")
        has_printed = True
        for block in dump.dump_text(binary, parts):
            echo(block)
    return has_printed
