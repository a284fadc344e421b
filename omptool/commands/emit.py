# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool emit`: the wrapper of device images as an object of its own, or a container of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from omptool.errors import reported
from omptool.options.dependencies import dependency_options, rule, rule_path
from omptool.options.paths import check_distinct
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
from packager.errors import UsageError
from packager.generations import Generation, listed, named
from packager.host_machines import MACHINES

if TYPE_CHECKING:
    from packager.files.reader import OpenFiles
    from packager.model import Finding
    from packager.writers.bundle import Form
    from packager.writers.containers import ContainerForm, Method
    from packager.writers.entries import EntrySource
    from packager.writers.requests import ImageRequest
    from packager.writers.streams import Copied

WRAPPERS = ("object", "asm", "llvm-ir")
COMPRESSED = "compressed-bundle"
CONTAINERS = ("offload-binary", "offload-bundle", COMPRESSED)


@click.command(cls=WithResponseFiles)
@wrapping_options(
    "Entries: `auto`, everything that the images define; or a file, one name per line (default: "
    "the entry sections of the objects that OUT is linked with)."
)
@click.option(
    "--format", "form", type=click.Choice((*WRAPPERS, *CONTAINERS)), default=WRAPPERS[0],
    show_default=True,
    help="Format of OUT: an object to link; its text, as asm or llvm-ir; or the images alone, as "
    "clang's tools write them: offload-binary, offload-bundle, compressed-bundle.",
)  # fmt: skip
@click.option(
    "--compression", type=click.Choice(["zstd", "zlib"]),
    help="Compression of a compressed bundle (default: zstd).",
)  # fmt: skip
@click.option(
    "--host", "machine", type=click.Choice(sorted(MACHINES)),
    help="Machine of the host that OUT is linked into (default: this one).",
)  # fmt: skip
@dependency_options
def command(
    images: tuple[str, ...],
    entries: str | None,
    abi: str | None,
    force: bool,
    out: Path,
    form: str,
    compression: str | None,
    machine: str | None,
    rule_beside: Path | None,
    rule_file: Path | None,
) -> None:
    """Write an object that holds device images and registers them, or a container of images.

    Link OUT with the host's objects and -lomptarget. `omptool bundle` does both in one object.

    Exits 0 when OUT was written, 1 when verify finds an error in it (OUT is not written), 2 for
    wrong usage or an unfit input.
    """
    with reported(out):
        from omptool.probes import own_formats
        from packager.files.reader import OpenFiles
        from packager.writers.requests import parse_request

        requests = [parse_request(image) for image in images]
        warn_of_triples(requests)
        inputs = [*(request.path for request in requests), *entry_list(entries)]
        dependencies = rule_path(rule_beside, rule_file, out)
        check_distinct([out] if dependencies is None else [out, dependencies], inputs)
        if form != COMPRESSED and compression:
            raise UsageError(f"--compression is for --format {COMPRESSED}")
        if form in CONTAINERS and machine:
            raise UsageError(f"--host is for the wrappers ({', '.join(WRAPPERS)})")
        with OpenFiles() as files:
            requests = own_formats.with_plugins(out, requests, files, force=force)
            writer = (
                _container(requests, files, _generation(abi, entries), form, compression)
                if form in CONTAINERS
                else _wrapper(requests, files, entry_source(entries), abi, form, machine)
            )
            with rule(dependencies, out, inputs), progress(inputs) as copied:
                findings = writer(out, force=force, copied=copied)
    report(out, findings)


def _container(
    requests: Sequence[ImageRequest],
    files: OpenFiles,
    generation: Generation,
    form: str,
    method: str | None,
) -> Callable[..., list[Finding]]:
    from packager.writers.containers import write_container

    return partial(
        write_container,
        requests,
        files,
        form=cast("ContainerForm", form),
        generation=generation,
        method=cast("Method", method or "zstd"),
    )


def _wrapper(
    requests: Sequence[ImageRequest],
    files: OpenFiles,
    source: EntrySource,
    abi: str | None,
    form: str,
    machine: str | None,
) -> Callable[..., list[Finding]]:
    from packager import host_machines
    from packager.writers.bundle import emit
    from packager.writers.requests import WrapRequest

    host = host_machines.written(machine) if machine else host_machines.own()
    written = written_abi(abi, None)

    def write(out: Path, *, force: bool, copied: Copied) -> list[Finding]:
        request = WrapRequest(requests, files, source, written, force, copied)
        return emit(request, out, host, cast("Form", form))

    return write


def _generation(abi: str | None, entries: str | None) -> Generation:
    """Return the generation whose tools are to read a container."""
    from packager.writers.containers import DEFAULT

    if entries is not None:
        raise UsageError("a container has no entries: leave --entries out")
    if abi is None:
        return DEFAULT
    generation = named(abi)
    if generation is None:
        raise UsageError(f"--abi {abi} has no containers; known values: {listed()}")
    return generation
