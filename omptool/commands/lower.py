# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool lower`: LLVM IR to the device image that a target's plugin loads."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import click

from omptool.console import echo, shown
from omptool.errors import fail, reported
from omptool.options.completing import triples
from omptool.options.paths import FILE, INPUT, check_distinct
from packager.errors import UsageError
from packager.files.replacing import replacing
from packager.lowering.lower import Target, lower
from packager.lowering.request import EMITS, Emit, SourceError
from packager.triples import processor_in


@click.command()
@click.argument("source", metavar="IN.ll|IN.bc", type=INPUT)
@click.option(
    "--triple",
    metavar="T[:ARCH]",
    required=True,
    shell_complete=triples,
    help="Target: x86_64, aarch64, nvptx64, amdgcn or spirv64, in any spelling of the triple, and "
    "its processor, as in nvptx64:sm_80.",
)
@click.option(
    "--cpu", metavar="C", default="", help="Processor, such as x86-64-v3, native or sm_90."
)
@click.option("--features", metavar="F", default="", help="Its features, such as +avx2,-fma.")
@click.option(
    "-O",
    "level",
    metavar="N",
    type=click.IntRange(0, 3),
    default=2,
    show_default=True,
    help="Optimisation level, 0 to 3.",
)
@click.option(
    "--entry",
    "entries",
    metavar="NAME",
    multiple=True,
    help="Kernel or global for the host to find (repeatable; default: all visible ones).",
)
@click.option(
    "--emit",
    type=click.Choice(EMITS),
    default="image",
    show_default=True,
    help="Kind of output.",
)
@click.option(
    "--device-lib",
    metavar="FILE",
    type=INPUT,
    help="Bitcode of functions that kernels call (default for nvptx64: NVIDIA's libdevice).",
)
@click.option(
    "-o",
    "--output",
    metavar="OUT",
    type=FILE,
    required=True,
    help="File to write.",
)
def command(
    source: Path,
    triple: str,
    cpu: str,
    features: str,
    level: int,
    entries: tuple[str, ...],
    emit: str,
    device_lib: Path | None,
    output: Path,
) -> None:
    """Lower LLVM IR, as text or bitcode, to a device image.

    For a CPU the image is a shared object, for nvptx64 PTX text (as obj a cubin, by ptxas), for
    amdgcn a code object, for spirv64 a SPIR-V module. The image exports its kernels and globals in
    the order of --entry, else of the IR.

    Exits 0 when OUT was written, 2 for wrong usage or an unfit input, 3 when a linker is missing.
    """
    triple, _, arch = triple.partition(":")
    target = Target(triple, cpu or arch or processor_in(triple), features, level, device_lib)
    with reported(source):
        if arch and cpu not in ("", arch):
            raise UsageError(f"--triple names the processor {arch}, and --cpu {cpu}: name one")
        check_distinct([output], [source, *([device_lib] if device_lib else [])])
        try:
            with replacing(output) as temporary:
                notes = lower(source, temporary, target, cast("Emit", emit), entries)
        except SourceError as error:  # its message names the file and the place
            fail(str(error), error.exit_code)
    for note in notes:
        echo(f"Warning: {shown(source)}: {note}", err=True)
