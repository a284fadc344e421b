# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool link`: a prefix to the host's link command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from omptool.console import echo
from omptool.errors import fail_with
from omptool.installation import LIBRARY, libdir
from omptool.options.linking import cache_of, end_as, expect_files, tools, warn
from omptool.options.paths import FILE, FOLDER
from omptool.options.stand_in import is_meant, translated
from packager.errors import UsageError
from packager.generations import NAMES

ABIS = ("interface", "proposal", *NAMES)


class LinkCommand(click.Command):
    """Takes the arguments of clang-linker-wrapper as well as its own."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, in clang-linker-wrapper's form or in omptool's."""
        try:
            words = _opened(args)
            args = translated(words) if is_meant(words) else args
        except UsageError as error:
            fail_with(error)
        return super().parse_args(ctx, args)


def _opened(args: list[str]) -> list[str]:
    """Return the arguments, with contents of response files, which clang's driver uses for many."""
    if not any(word.startswith("@") for word in args):
        return args
    from packager.files.response_files import opened

    return list(opened(args))


@click.command(cls=LinkCommand, context_settings={"allow_interspersed_args": False})
@click.option("--abi", type=click.Choice(ABIS), help="ABI that registers the images "
              "(default: that of the objects).")  # fmt: skip
@click.option("--device-lib", "libraries", type=FILE, multiple=True, metavar="FILE",
              help="Bitcode of functions that device code calls (repeatable).")  # fmt: skip
@click.option("--device-linker", "device_words", multiple=True, metavar="[TRIPLE=]WORD",
              help="A word for the linker of device code (repeatable).")  # fmt: skip
@click.option("-O", "level", type=click.IntRange(0, 3), default=2, show_default=True,
              help="Optimisation level of device code in LLVM bitcode.")  # fmt: skip
@click.option("--ptx", "keeps_ptx", is_flag=True,
              help="Leave PTX to the driver, even where ptxas could assemble it.")  # fmt: skip
@click.option("--ptxas-arg", "ptxas", multiple=True, metavar="WORD",
              help="A word for ptxas, where it assembles PTX (repeatable).")  # fmt: skip
@click.option("--runtime", metavar="FILE|none",
              help="The libomptarget to add if COMMAND names none (default: omptool's).",
              )  # fmt: skip
@click.option("--save-temps", "kept", type=FOLDER, metavar="DIR",
              help="Keep intermediate files in DIR (default: delete them).")  # fmt: skip
@click.option("--cache", "is_cached", is_flag=True,
              help="Keep images of bitcode in the cache folder, for later links.")  # fmt: skip
@click.option("--clear-cache", is_flag=True, is_eager=True, expose_value=False,
              callback=lambda ctx, _, chosen: _clear(ctx) if chosen else None,
              help="Remove the images in the cache folder, and exit.")  # fmt: skip
@click.option("--no-rpath", is_flag=True, help="Leave the folder of libomptarget out of RUNPATH.")
@click.option("--force", is_flag=True, help="Keep the result even if verify finds an error.")
@click.option("--dry-run", is_flag=True, help="Show the commands, and run none.")
@click.option("-v", "--verbose", is_flag=True, help="Show each command on stderr.")
@click.argument("words", metavar="-- COMMAND...", nargs=-1, required=True)
def command(words: tuple[str, ...], **chosen: Any) -> None:
    """Link the device code of a link command's objects, and run COMMAND with the images added.

    COMMAND is the link command of a build without offloading: `cc a.o b.o -o app`, `clang++ ...`,
    or a linker's own. Without device code in its objects, COMMAND runs as it is.

    Exits as COMMAND does; 1 when verify finds an error in the result (which is removed), 2 for
    objects that cannot be linked together, 3 when a linker is missing.
    """
    end_as(lambda: _link(words, **chosen))


def _link(words: tuple[str, ...], **chosen: Any) -> int:
    from packager.linking.host_command import parse
    from packager.linking.images import DeviceOptions
    from packager.linking.link import Options, link

    runtime = chosen["runtime"]
    expect_files([*chosen["libraries"], *([] if runtime in (None, "none") else [Path(runtime)])])
    is_shown = chosen["verbose"] or chosen["dry_run"]
    device_words = tuple(_device_word(text) for text in chosen["device_words"])
    options = Options(
        abi=chosen["abi"] or "",
        runtime=lambda: _runtime(runtime),
        folder=libdir,
        device=DeviceOptions(
            chosen["libraries"],
            device_words,
            chosen["level"],
            chosen["keeps_ptx"],
            chosen["ptxas"],
            cache_of(is_asked=chosen["is_cached"]),
        ),
        force=chosen["force"],
        warn=warn,
        sets_rpath=not chosen["no_rpath"],
    )
    host = parse(words)
    with tools(chosen["kept"], is_shown=is_shown, is_dry=chosen["dry_run"]) as working:
        return link(host, options, working)


def _clear(ctx: click.Context) -> None:
    """Remove the cached images, print how many there were, and end."""
    from packager.linking.image_cache import MIB, image_cache

    cache = image_cache(0)
    number, size = cache.clear() if cache else (0, 0)
    echo(f"removed {number} cached images of {size / MIB:.1f} MiB")
    ctx.exit()


def _device_word(text: str) -> tuple[str, str]:
    from packager.triples import is_known

    triple, equals, word = text.partition("=")
    return (triple, word) if equals and "-" in triple and is_known(triple) else ("", text)


def _runtime(named: str | None) -> Path | None:
    if named == "none":
        return None
    return Path(named) if named else libdir() / LIBRARY
