# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool verify`: checks the device images and entries in files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from omptool.commands.verify.gates import Gates, Result, found_in
from omptool.console import echo, echo_pieces, shown
from omptool.errors import reported
from omptool.options.colour import colour_option
from omptool.options.completing import codes, explained
from omptool.options.gating import Gating, gating_options
from omptool.options.paths import INPUT
from omptool.reading import Files
from packager.errors import UsageError
from packager.look import Look
from packager.model import FatBinary
from packager.pairing import needs_device
from packager.questions.members import named

if TYPE_CHECKING:
    from packager.checks.between import Earlier
    from packager.dwarf.sources import Asked
    from packager.files.reader import Reader

# Checks need symbols only of images whose host has entries; otherwise they look for damage only.
LOOK = Look(for_entries=True, damage=True, code=True, host_only=True)
TEXT = "text"
FORMS = (TEXT, "json", "sarif", "github")


@click.command()
@click.argument("files", nargs=-1, type=INPUT, metavar="FILE...")
@click.option(
    "--select",
    metavar="CODES",
    shell_complete=codes,
    help="Check only these, e.g. OMP105,OMP109.",
)
@click.option("--ignore", metavar="CODES", shell_complete=codes, help="Leave these checks out.")
@click.option("--strict", is_flag=True, help="Count warnings as errors in the exit code.")
@click.option("--require-entries", is_flag=True, help="Also exit 1 for a FILE without entries.")
@gating_options
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMS),
    help="Print text (the default), one JSON document, SARIF 2.1.0, or annotations of GitHub's.",
)
@click.option(
    "--wide", "is_wide", is_flag=True, help="Print all notes, and names as they are in the file."
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("--sarif", "as_sarif", is_flag=True, help="The same as --format sarif.")
@click.option(
    "--explain",
    metavar="CODE",
    shell_complete=explained,
    help="Print the cause and the cure of a finding, and exit.",
)
@colour_option
@click.pass_context
def command(
    ctx: click.Context,
    files: tuple[Path, ...],
    select: str | None,
    ignore: str | None,
    strict: bool,
    require_entries: bool,
    gating: Gating,
    form: str | None,
    is_wide: bool,
    as_json: bool,
    as_sarif: bool,
    explain: str | None,
) -> None:
    """Check the entries and device images in each FILE against each other.

    Each finding has a code, a severity and a hint; --explain prints the code's cause and cure.
    --against, --budget and --baseline make verify a gate of a build.

    Exits 0 when no finding is an error, 1 when one is, 2 when nothing of a file can be read. With
    --strict, warnings count as errors. With --require-entries, 1 also when a FILE, of which an
    archive is one, has no region and no variable for devices.
    """
    from packager import checks

    with reported("verify"):
        explained = None if explain is None else _explained(explain.upper())
        codes = checks.selected(_codes("--select", select), _codes("--ignore", ignore))
    if explain and explained:
        echo(f"{explain.upper()}: {explained}")
        ctx.exit(0)
    form = _form(form, as_json, as_sarif)
    if not files:
        raise click.UsageError("Missing argument 'FILE...'.")
    gating.expect_sense(files)
    look = LOOK._replace(for_entries=not gating.asks_for_kernels)
    gates = Gates(gating, look)
    found = Files(files, look, checked=True, sourced=_sourced(form), judged=_judged)
    results, without = _checked(found, codes, gates, is_text=form == TEXT, is_wide=is_wide)
    for path in without if require_entries else ():
        echo(f"Error: {shown(path)}: has no entry, and --require-entries is given", err=True)
    is_wanting = (require_entries and bool(without)) or _is_wanting(results, strict)
    exit_code = 2 if found.failed or gates.failed else 1 if is_wanting else 0
    if exit_code == 1 and gating.write_baseline:
        exit_code = 0
    _print(form, results, [*codes, *gates.codes], found, exit_code)
    gates.conclude(results)
    ctx.exit(exit_code)


def _form(form: str | None, as_json: bool, as_sarif: bool) -> str:
    """Return the form of the output. Raises UsageError if options name several."""
    asked = {
        one for one in (form, "json" if as_json else None, "sarif" if as_sarif else None) if one
    }
    if len(asked) > 1:
        raise click.UsageError("--format, --json and --sarif exclude each other.")
    return asked.pop() if asked else TEXT


def _sourced(form: str) -> Asked | None:
    """Return the sources to look up: those of entries, for output forms that refer to them."""
    if form not in ("sarif", "github"):
        return None
    from packager.dwarf.sources import Asked

    return Asked(kernels=False)


def _print(
    form: str, results: Sequence[Result], codes: Sequence[str], found: Files, exit_code: int
) -> None:
    """Print the findings in a form for programs; text has been printed file by file."""
    if form == "json":
        from omptool.render.verify import verify_json

        echo_pieces(verify_json(results, codes, found.errors))
    elif form == "sarif":
        from omptool.render.exchange import sarif

        echo_pieces(sarif.log(results, codes, found.errors, exit_code))
    elif form == "github":
        from omptool.render.exchange import github

        for line in github.lines(results):
            echo(line)


def _checked(
    files: Files, codes: Sequence[str], gates: Gates, *, is_text: bool, is_wide: bool
) -> tuple[list[Result], list[Path]]:
    """Return the findings, which text shows file by file, and the files without entries."""
    from packager.checks.between import Earlier

    results: list[Result] = []
    without: list[Path] = []
    earlier = Earlier()
    for path, binaries in files.by_path():
        parts: list[FatBinary] = []
        of_parts = _of_parts(path, binaries, codes, gates, earlier, parts)
        for result in chain(of_parts, _of_whole(path, parts, files, gates)):
            results.append(result)
            earlier.add(result[0])
            if is_text:
                from omptool.render.verify import verify_text

                echo(verify_text(*result, codes, is_wide=is_wide))
        has_entry = any(needs_device(entry) for part in parts for entry in part.entries)
        without += [] if has_entry else [path]
    return results, without


def _of_parts(
    path: Path,
    binaries: Iterable[FatBinary],
    codes: Sequence[str],
    gates: Gates,
    earlier: Earlier,
    parts: list[FatBinary],
) -> Iterator[Result]:
    """Yield the findings about a file, member by member, and add its `parts`."""
    for member, binary in named(binaries, str(path)):
        parts.append(binary)
        findings = found_in(binary, earlier, codes)
        yield binary, gates.fresh(binary, [*findings, *gates.of_part(member, binary)])


def _of_whole(
    path: Path, parts: Sequence[FatBinary], files: Files, gates: Gates
) -> Iterator[Result]:
    """Yield the gates' findings about a file; none for an unreadable one: no part of it is gone."""
    if files.failed:
        return
    for whole, findings in gates.of_file(path, parts):
        yield whole, gates.fresh(whole, findings)


def _is_wanting(results: Sequence[Result], strict: bool) -> bool:
    fatal = {"error", "warning"} if strict else {"error"}
    return any(finding.severity in fatal for _, findings in results for finding in findings)


def _judged(binary: FatBinary, data: Sequence[Reader]) -> FatBinary:
    """Ask the plugins on this machine about images of no known format."""
    if not any(image.contents.is_own for image in binary.images):
        return binary
    from omptool.probes.own_formats import judged

    return judged(binary, data)


def _explained(code: str) -> str:
    from packager.machine.explained import explain

    return explain(code)


def _codes(option: str, text: str | None) -> list[str]:
    """Return the codes in an option's value. Raises UsageError for a list without any code."""
    if text is None:
        return []
    codes = [code.strip().upper() for code in text.split(",") if code.strip()]
    if not codes:
        raise UsageError(f"{option} {text!r} names no check")
    return codes
