"""The plugins of the bundled runtime, as a program started now would find them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from omptool.installation import LIBRARY, libdir
from omptool.probes.in_own_process import NoAnswerError, ask
from packager.errors import MissingToolError
from packager.machine.facts import Cuda, Plugins


class ImageBytes(NamedTuple):
    """Where the bytes of an image are."""

    file: Path
    offset: int
    size: int


class Answers(NamedTuple):
    """What the plugins say, in the order in which the runtime asks them."""

    plugins: Plugins
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
    library, how = str(libdir() / LIBRARY), "named" if has_names else "nameless"
    environment = dict(os.environ) if environment is None else environment
    try:
        words = (library, how, *(str(word) for image in images for word in image))
        said = ask("omptool.probes.runtime_plugins", *words, environment=environment)
    except NoAnswerError as error:
        raise MissingToolError(f"asking the plugins {error}") from error
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
    try:
        said = ask("omptool.probes.cuda_driver", str(library), environment=environment)
    except NoAnswerError as error:
        return Cuda(f"asking CUDA's driver {error}")
    return Cuda(said["problem"], tuple(said["devices"]))
