"""The plugins of the bundled runtime, as a program started now would find them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from omptool.installation import LIBRARY, libdir
from packager.errors import MissingToolError
from packager.fates import Cuda


class ImageBytes(NamedTuple):
    """Where the bytes of an image are."""

    file: Path
    offset: int
    size: int


class Answers(NamedTuple):
    """What the plugins say, in the order in which the runtime asks them."""

    plugins: list[dict[str, Any]]  # name, path, state, reason, devices: [{number}]
    images: list[list[dict[str, Any]]]  # of each image: plugin, accepts, reason


def ask_plugins(
    images: Sequence[ImageBytes],
    environment: dict[str, str] | None = None,
    *,
    has_names: bool = True,
) -> Answers:
    """Ask all plugins for their devices, and whether they accept each of these images.

    `has_names` is of the program's entries: plugins of 2013 are for programs without.

    Device numbers are those of a program that has an image for every plugin. What a plugin writes
    to stderr is passed on. Raises MissingToolError when a plugin ends the process that asks.
    """
    command = [sys.executable, "-m", "omptool.plugin_rows", str(libdir() / LIBRARY)]
    command.append("named" if has_names else "nameless")
    result = subprocess.run(
        [*command, *(str(word) for image in images for word in image)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ if environment is None else environment,
    )
    click.echo(result.stderr, err=True, nl=False)
    if result.returncode:
        raise MissingToolError(f"asking the plugins ended with {_ending(result.returncode)}")
    said = json.loads(result.stdout)
    number = 0
    for row in said["plugins"]:
        count = row["devices"] if row["state"] == "ready" else 0
        row["devices"] = [{"number": number + n} for n in range(count)]
        number += count
    return Answers(said["plugins"], said["images"])


def ask_cuda(library: Path | None, environment: dict[str, str]) -> Cuda | None:
    """What CUDA's driver at `library` says of this machine; None without a driver."""
    if library is None:
        return None
    result = subprocess.run(
        [sys.executable, "-m", "omptool.cuda_row", str(library)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    if result.returncode:
        return Cuda(f"asking CUDA's driver ended with {_ending(result.returncode)}")
    said = json.loads(result.stdout)
    return Cuda(said["problem"], tuple(said["devices"]))


def _ending(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"
