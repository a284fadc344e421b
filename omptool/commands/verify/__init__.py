# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool verify`: checks the device images and entries in files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from omptool.console import echo, echo_pieces, shown
from omptool.errors import reported
from omptool.options.colour import colour_option
from omptool.options.completing import codes, explained
from omptool.options.paths import INPUT
from omptool.reading import Files
from packager.errors import UsageError
from packager.look import Look
from packager.model import FatBinary, Finding
from packager.pairing import needs_device

if TYPE_CHECKING:
    from packager.files.reader import Reader

# Where a host has no entries, no check asks for symbols: only for what is wrong with an image.
LOOK = Look(for_entries=True, damage=True, code=True, host_only=True)


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
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("--sarif", "as_sarif", is_flag=True, help="Print SARIF 2.1.0, for other tools.")
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
    as_json: bool,
    as_sarif: bool,
    explain: str | None,
) -> None:
    """Check the entries and device images in each FILE against each other.

    Each finding has a code, a severity and a hint; --explain prints the code's cause and cure.

    Exits 0 when no finding is an error, 1 when one is, 2 when nothing of a file can be read. With
    --strict, warnings count as errors. With --require-entries, 1 also when a FILE, of which an
    archive is one, has no region and no variable for devices.
    """
    from omptool.render import verify
    from packager import checks

    with reported("verify"):
        explained = None if explain is None else _explained(explain.upper())
        codes = checks.selected(_codes("--select", select), _codes("--ignore", ignore))
    if explain and explained:
        echo(f"{explain.upper()}: {explained}")
        ctx.exit(0)
    if as_json and as_sarif:
        raise click.UsageError("--json and --sarif exclude each other.")
    if not files:
        raise click.UsageError("Missing argument 'FILE...'.")
    found = Files(files, LOOK, checked=True, judged=_judged)
    is_text = not (as_json or as_sarif)
    results, without = _checked(found, codes, is_text=is_text)
    for path in without if require_entries else ():
        echo(f"Error: {shown(path)}: has no entry, and --require-entries is given", err=True)
    is_wanting = (require_entries and bool(without)) or _is_wanting(results, strict)
    exit_code = 2 if found.failed else 1 if is_wanting else 0
    if as_json:
        echo_pieces(verify.verify_json(results, codes, found.errors))
    elif as_sarif:
        from omptool.render.exchange import sarif

        echo_pieces(sarif.log(results, codes, found.errors, exit_code))
    ctx.exit(exit_code)


def _checked(
    files: Files, codes: Sequence[str], *, is_text: bool
) -> tuple[list[tuple[FatBinary, list[Finding]]], list[Path]]:
    """Return the findings, which text shows file by file, and the files without entries."""
    from omptool.render import verify
    from packager import checks

    results: list[tuple[FatBinary, list[Finding]]] = []
    without: list[Path] = []
    for path, binaries in files.by_path():
        has_entry = False
        for binary in binaries:
            findings = checks.verify(binary, codes) if codes else []
            findings += checks.against([earlier for earlier, _ in results], binary, codes)
            results.append((binary, findings))
            has_entry = has_entry or any(map(needs_device, binary.entries))
            if is_text:
                echo(verify.verify_text(binary, findings, codes))
        without += [] if has_entry else [path]
    return results, without


def _is_wanting(results: Sequence[tuple[FatBinary, list[Finding]]], strict: bool) -> bool:
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
    """The codes of an option; a list that names none is a mistake, not every check."""
    if text is None:
        return []
    codes = [code.strip().upper() for code in text.split(",") if code.strip()]
    if not codes:
        raise UsageError(f"{option} {text!r} names no check")
    return codes
