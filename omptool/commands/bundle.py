# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool bundle`: device images into a host object file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from omptool.console import echo, shown
from omptool.errors import reported
from omptool.options.dependencies import dependency_options, rule, rule_path
from omptool.options.paths import FILE, check_distinct
from omptool.options.wrapper import (
    WithResponseFiles,
    entry_list,
    entry_source,
    progress,
    report,
    warn_of_triples,
    wrapping_options,
    written_abi,
)

if TYPE_CHECKING:
    from packager.hosts.host_file import HostFile
    from packager.model import Finding
    from packager.writers.requests import WrapRequest


@click.command(cls=WithResponseFiles)
@click.argument("host", type=FILE)
@wrapping_options(
    "Entries: `auto`, everything that images and HOST define under one name; or a file, one name "
    "per line (default: HOST's own table, see omptarget.h)."
)
@dependency_options
def command(
    host: Path,
    images: tuple[str, ...],
    entries: str | None,
    abi: str | None,
    force: bool,
    out: Path,
    rule_beside: Path | None,
    rule_file: Path | None,
) -> None:
    """Put device images into HOST and write it to OUT: an object, or an executable or library.

    An object links as HOST did, with -lomptarget added. A finished file must register no images
    yet; it needs no further link. Images are registered before any constructor runs. `omptool
    verify` checks OUT before it takes its place.

    Exits 0 when OUT was written, 1 when verify finds an error in it (OUT is not written), 2 for
    wrong usage or an unfit input.
    """
    with reported(host):
        from omptool.probes import own_formats
        from packager.files.reader import OpenFiles
        from packager.hosts.host_file import open_host
        from packager.writers.requests import WrapRequest, parse_request

        requests = [parse_request(image) for image in images]
        warn_of_triples(requests)
        named = [*(request.path for request in requests), *entry_list(entries)]
        dependencies = rule_path(rule_beside, rule_file, out)
        outputs = [out] if dependencies is None else [out, dependencies]
        with OpenFiles() as files, open_host(host) as file:
            requests = own_formats.with_plugins(host, requests, files, force=force)
            into = _into_linked if file.is_linked else _into_object
            # A finished file may replace itself.
            check_distinct(outputs, named if into is _into_linked else [host, *named])
            source, written = entry_source(entries), written_abi(abi, file)
            inputs = [host, *named]
            with rule(dependencies, out, inputs), progress(inputs) as copied:
                request = WrapRequest(requests, files, source, written, force, copied)
                findings, notes = into(file, request, out)
    report(out, findings)
    for note in notes:
        echo(f"Note: {shown(out)}: {note}", err=True)


def _into_object(
    host: HostFile, request: WrapRequest, out: Path
) -> tuple[Sequence[Finding], Sequence[str]]:
    from packager.writers.bundle import bundle

    return bundle(host, request, out), ()


def _into_linked(
    host: HostFile, request: WrapRequest, out: Path
) -> tuple[Sequence[Finding], Sequence[str]]:
    from packager.files.checksums import Checksums

    with Checksums(request.files, (image.path for image in request.images)) as sums:
        from packager.editing.register import register

        done = register(host, request, sums, out)
    return done.findings, done.notes
