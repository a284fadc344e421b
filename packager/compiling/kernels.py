# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Add kernels in LLVM IR to a host: an image for each target, and their registration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from packager.compiling.targets import Target
from packager.errors import PackagerError, UsageError
from packager.files.reader import OpenFiles
from packager.files.temporary import unused
from packager.host_machines.machine import HostMachine
from packager.hosts.host_file import open_host
from packager.linking.tools import Tools
from packager.lowering import lower as lowering
from packager.lowering.request import SourceError
from packager.model import Finding
from packager.writers.bundle import bundle, emit
from packager.writers.entries import EntrySource
from packager.writers.requests import ImageRequest, WrapRequest


def images(
    sources: Sequence[Path], targets: Sequence[Target], level: int, library: Path | None,
    warn: Callable[[str], None], tools: Tools,
) -> list[ImageRequest]:  # fmt: skip
    """Lower the one module of IR for each target. Raises UsageError for several modules."""
    if len(sources) > 1:
        raise UsageError("there are several modules of kernels: join them with llvm-link")
    requests = []
    for target in targets:
        for arch in target.archs or ("",):
            name = f"{target.triple}-{arch}" if arch else target.triple
            out = unused(tools.folder, f"{name}.image")
            shown = f"omptool: lower {sources[0]} --triple {target.triple}"
            tools.show(f"{shown} --cpu {arch} -o {out}" if arch else f"{shown} -o {out}")
            if not tools.is_dry:
                wanted = lowering.Target(target.triple, arch, "", level, library)
                for line in _lowered(sources[0], out, wanted):
                    warn(f"{sources[0]}: {line}")
            requests.append(ImageRequest(target.triple, arch, out))
    return requests


def _lowered(source: Path, out: Path, wanted: lowering.Target) -> Sequence[str]:
    try:
        return lowering.lower(source, out, wanted)
    except SourceError:  # the message names the file
        raise
    except PackagerError as error:
        raise type(error)(f"{source}: {error}") from error


def into(
    host: Path, wanted: Sequence[ImageRequest], entries: EntrySource, out: Path, *, force: bool
) -> list[Finding]:
    """Write the object `host` with images to `out`."""
    try:
        with open_host(host) as file, OpenFiles() as files:
            return bundle(file, WrapRequest(wanted, files, entries, force=force), out)
    except PackagerError as error:
        if str(out) in str(error):
            raise
        raise type(error)(f"{out}: {error}") from error


def wrapper(
    wanted: Sequence[ImageRequest], entries: EntrySource, machine: HostMachine, tools: Tools
) -> Path:
    """Write an object that holds the images and registers them in a host of `machine`."""
    out = unused(tools.folder, "images.o")
    tools.show(f"omptool: emit {' '.join(request.path.name for request in wanted)} -o {out}")
    if not tools.is_dry:
        with OpenFiles() as files:
            emit(WrapRequest(wanted, files, entries, force=True), out, machine)
    return out
