"""`omptool dump`: the device images, entries and descriptors in files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from omptool.console import echo, echo_pieces, shown
from omptool.errors import reported
from omptool.options.colour import colour_option
from omptool.options.paths import INPUT
from omptool.options.wanted import wanted_options
from omptool.reading import Files
from packager.files.presence import is_file
from packager.look import Look
from packager.model import DeviceImage, FatBinary
from packager.questions.sorting import COLUMNS
from packager.questions.wanted import Wanted
from packager.triples import normalise

_ADDRESS = re.compile(r"0[xX][0-9a-fA-F]{1,16}|0|[1-9][0-9]{0,19}")


def _numbers(
    _ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]
) -> tuple[int, ...]:
    """Addresses as debuggers print them: hexadecimal with 0x, or decimal."""
    for value in values:
        if not _ADDRESS.fullmatch(value) or int(value, 0) >> 64:
            raise click.BadParameter(f"{value!r} is no address: give it as 0x… or in decimal")
    return tuple(dict.fromkeys(int(value, 0) for value in values))


if TYPE_CHECKING:
    from packager.dwarf.sources import Asked
    from packager.questions.offered import Offered

# What a file is compared with that the other archive has no counterpart of.
EMPTY = FatBinary("", None, None, None, (), (), ())


@click.command()
@click.argument("files", nargs=-1, required=True, type=INPUT, metavar="FILE...")
@click.option("--images", is_flag=True, help="Show the images.")
@click.option("--entries", is_flag=True, help="Show the entries and how they stand in each image.")
@click.option("--descriptors", is_flag=True, help="Show what is registered, and by what.")
@click.option("--kernels", is_flag=True, help="Show the kernels of each image.")
@click.option("--summary", is_flag=True, help="Show sums, and which GPUs it is for; no tables.")
@wanted_options
@click.option(
    "--sort",
    type=click.Choice(COLUMNS),
    help="Order images and kernels by a column, numbers from the largest.",
)
@click.option("--no-demangle", is_flag=True, help="Show C++ names as they are in the images.")
@click.option("--wide", is_flag=True, help="Show all columns, and names of any length.")
@click.option(
    "--no-source", is_flag=True, help="Leave source files out: read no debug information."
)
@click.option("--hash", "hashed", is_flag=True, help="Add the SHA-256 of each image.")
@click.option(
    "--address",
    "addresses",
    multiple=True,
    callback=_numbers,
    metavar="ADDR",
    help="Show only what is at ADDR of the host or a device (repeatable).",
)
@click.option(
    "--against",
    type=INPUT,
    metavar="OLD",
    help="Show only what changed since OLD.",
)
@click.option("--exit-code", is_flag=True, help="With --against, exit 1 if something changed.")
@click.option(
    "--disassemble", metavar="KERNEL", help="Show only a kernel's code, by this machine's tools."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document, with everything.")
@colour_option
@click.pass_context
def command(
    ctx: click.Context,
    files: tuple[Path, ...],
    images: bool,
    entries: bool,
    descriptors: bool,
    kernels: bool,
    summary: bool,
    triples: tuple[str, ...],
    archs: tuple[str, ...],
    kinds: tuple[str, ...],
    patterns: tuple[str, ...],
    sort: str | None,
    no_demangle: bool,
    wide: bool,
    no_source: bool,
    hashed: bool,
    addresses: tuple[int, ...],
    against: Path | None,
    exit_code: bool,
    disassemble: str | None,
    as_json: bool,
) -> None:
    """Show the device images, offload entries and descriptors in each FILE.

    FILE is an object, archive, executable, shared library, package (.whl, .deb), bundle of images
    or bare image, or - for standard input; stripped ones are read too. Kinds and archs are those of
    the images' bytes. Without --images, --entries, --descriptors and --kernels all but the kernels
    are shown.

    Exits 0 also for a file without offload code, 1 when no image or kernel is as --triple, --arch,
    --kind, --kernel or --disassemble says, nothing is at an --address or, with --exit-code,
    something changed since --against, 2 when a file cannot be read or is malformed, 3 when this
    machine has no tool for --disassemble.
    """
    chosen = images or entries or descriptors or kernels
    with reported("--triple"):
        named = tuple(normalise(triple) for triple in triples)
    wanted = Wanted((), named, archs, kinds, patterns)
    if addresses or against:
        as_tables = chosen or wide or summary or sort or (addresses and not wanted.is_open)
        _expect_one_question(files, addresses, against, as_json, bool(as_tables))
    if exit_code and not against:
        raise click.UsageError("--exit-code is about --against.")
    if (summary and (chosen or wide or sort)) or (as_json and sort):
        raise click.UsageError("--summary and --json have no tables: without what shows these.")
    parts = (images, entries, descriptors, kernels) if chosen else (True, True, True, False)
    is_whole = as_json or against is not None
    is_named = entries or kernels or not chosen or bool(patterns)  # what images have, by names
    look = Look(
        symbols=is_whole or summary or is_named or bool(addresses),
        for_entries=not (is_whole or summary or kernels or patterns or addresses),
        resources=is_whole or kernels,
        hashed=hashed or against is not None,
    )
    of_kernels = kernels or as_json or bool(addresses)
    is_sourced = of_kernels or entries or (wide and not chosen)
    if no_source or summary or against or not is_sourced:
        sourced = None
    else:
        sourced = _asked(wanted, of_kernels)
    offered = _offered(wanted)
    found = Files(files, look, sourced=sourced, offered=offered)
    if disassemble is not None:
        if as_json or hashed or addresses or against or chosen or wide or summary or sort:
            raise click.UsageError("--disassemble is one question: only with what chooses images.")
        ctx.exit(_disassembled(found, files, wanted, disassemble))
    if addresses:
        ctx.exit(_located(found, addresses))
    if against:
        before = Files([against], Look(hashed=True), offered=offered)
        differs = _compared(found, before, files[0], against, wanted, as_json, no_demangle)
        code = _ended(found.failed or before.failed, offered)
        ctx.exit(1 if differs and exit_code and not code else code)
    if summary:
        _summarised(found, wanted, as_json)
    elif as_json:
        from omptool.render.dumped import dump_json

        echo_pieces(dump_json(found, found.errors, wanted))
    else:
        _tables(found, parts, wanted, wide, sort, no_demangle)
    ctx.exit(_ended(found.failed, offered))


def _offered(wanted: Wanted) -> Offered | None:
    """Return what collects what there is to choose from, where something is chosen."""
    if wanted.is_open:
        return None
    from packager.questions.offered import Offered

    return Offered(wanted)


def _ended(has_failed: bool, offered: Offered | None) -> int:
    """Return the exit code, and report what was asked for and is in no file."""
    if offered is None:
        return 2 if has_failed else 0
    for line in offered.lacks():
        echo(f"{'Warning' if offered.is_met else 'Error'}: {line}", err=True)
    return 2 if has_failed else 0 if offered.is_met else 1


def _asked(wanted: Wanted, of_kernels: bool) -> Asked:
    """The sources that are shown."""
    from packager.dwarf.sources import Asked

    def is_shown(binary: FatBinary, image: DeviceImage) -> bool:
        return wanted(image.index, binary, image)

    return Asked(is_shown, wanted.names, of_kernels)


def _tables(
    found: Files,
    shown_parts: tuple[bool, bool, bool, bool],
    wanted: Wanted,
    wide: bool,
    sort: str | None,
    no_demangle: bool,
) -> None:
    from omptool.render import dump

    parts = dump.Parts(*shown_parts, wide, sort, not no_demangle, wanted)
    for number, binary in enumerate(found):
        if number:
            echo("")
        for block in dump.dump_text(binary, parts):
            echo(block)


def _summarised(found: Files, wanted: Wanted, as_json: bool) -> None:
    from omptool.render.dump import headline
    from omptool.render.summary import summary_json, summary_text
    from packager.questions.summary import summary
    from packager.wording import counted

    def pairs(binaries: Iterable[FatBinary]) -> list[tuple[FatBinary, list[DeviceImage]]]:
        return [(binary, list(wanted.images(binary))) for binary in binaries]

    if as_json:
        rows = ((str(p), _size(p), summary(pairs(binaries))) for p, binaries in found.by_path())
        echo_pieces(summary_json(rows, found.errors))
        return
    for number, (path, binaries) in enumerate(found.by_path()):
        read = pairs(binaries)
        if read:
            first, *others = (binary for binary, _ in read)
            is_file = not others and first.path == str(path)
            what = headline(first) if is_file else f"archive, {counted(len(read), 'member')}"
            # Of what a package has compressed, no share is known.
            has_shares = all(one.path == str(path) or one.file for one in (first, *others))
            text = summary_text(str(path), _size(path), what, summary(read), has_shares=has_shares)
            echo(("\n" if number else "") + text)


def _size(path: Path) -> int | None:
    """The bytes of a file; None of a pipe."""
    return path.stat().st_size if is_file(path) else None


def _expect_one_question(
    files: tuple[Path, ...],
    addresses: tuple[int, ...],
    against: Path | None,
    as_json: bool,
    as_tables: bool,
) -> None:
    if addresses and against:
        raise click.UsageError("--address and --against are two questions: ask one.")
    if as_json and addresses:
        raise click.UsageError("--json shows everything: without --address.")
    if as_tables:
        raise click.UsageError("--address and --against make no tables: leave out what these show.")
    if against and len(files) != 1:
        raise click.UsageError("--against compares one FILE with another.")


def _disassembled(found: Files, files: Sequence[Path], wanted: Wanted, kernel: str) -> int:
    from packager.writers.disassembly import disassemble

    for path in files:
        with reported(path):
            for one in disassemble(path, wanted, kernel):
                tool = f", by {one.tool}" if one.tool else ""
                echo(f"{shown(path)}: image {one.number} ({one.image.target}){tool}:\n{one.text}\n")
    return 0


def _located(found: Files, addresses: tuple[int, ...]) -> int:
    from packager.questions.locate import locate

    known: set[int] = set()
    for binary in found:
        for address in addresses:
            for line in locate(binary, address):
                known.add(address)
                echo(f"{shown(binary.path)}: {address:#x} is {line}")
    for address in addresses:
        if address not in known:
            echo(f"{address:#x} is nothing of offloading")
    return 2 if found.failed else 0 if known == set(addresses) else 1


def _compared(
    found: Files,
    before: Files,
    new: Path,
    old: Path,
    wanted: Wanted,
    as_json: bool,
    no_demangle: bool,
) -> bool:
    """Return whether something changed; nothing is shown where a file could not be read."""
    from omptool.render.against import Part, against_json, against_text
    from packager.questions.compare import differences

    ours, theirs = _by_member(before, old), _by_member(found, new)
    if found.failed or before.failed:
        return False
    parts = [
        Part(name, list(differences(ours.get(name, EMPTY), theirs.get(name, EMPTY), wanted)))
        for name in {**ours, **theirs}
    ]
    if as_json:
        echo(against_json(str(old), str(new), parts))
    else:
        echo(against_text(parts, is_demangled=not no_demangle))
    return any(part.changes for part in parts)


def _by_member(found: Files, path: Path) -> dict[str, FatBinary]:
    """Return the files by the names of their members; "" for a file that is no archive.

    Members of one name keep their order.
    """
    binaries: dict[str, FatBinary] = {}
    for binary in found:
        name = binary.path.removeprefix(str(path)) if not binary.is_empty else ""
        number = 1
        while (key := name if number == 1 else f"{name} {number}") in binaries:
            number += 1
        binaries[key] = binary
    return binaries
