# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The plugins of the bundled runtime, as a program started now would find them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from omptool.installation import LIBRARY, libdir
from omptool.probes.in_own_process import NoAnswerError, ask, passed_on
from packager.errors import MissingToolError
from packager.machine.facts import FAILS, Cuda, Plugins
from packager.records import NamedTuple

ASKER = "omptool.probes.runtime_plugins"
ONLY = "OMPTOOL_PLUGINS"  # names the plugins that are opened
# Keys of a device's description, for a plugin that does not describe it.
DESCRIBED = ("name", "architecture", "memory", "units", "team_memory", "team_threads", "driver")
OF_RANK = ("rank", "node", "title")  # keys of a device of another MPI rank
UNDESCRIBED = dict.fromkeys((*DESCRIBED, "images", *OF_RANK))


class ImageBytes(NamedTuple):
    """The place of an image's bytes in a file."""

    file: Path
    offset: int
    size: int


class Answers(NamedTuple):
    """Answers of the plugins, in the order of asking."""

    plugins: Plugins
    images: list[list[dict[str, Any]]]  # per image: plugin, accepts, reason, and perhaps fatal
    fatal: str = ""  # a plugin that ends whoever opens it, and how; "" if none does


def ask_plugins(
    images: Sequence[ImageBytes],
    environment: dict[str, str] | None = None,
    *,
    has_names: bool = True,
    runtime: Path | None = None,
) -> Answers:
    """Ask all plugins for their devices, and whether they accept each of these images.

    `has_names` is true if the program's entries have names: plugins of 2013 are for programs
    without. The plugins are those of `runtime`, which is omptool's, or of the bundled one.

    Device numbers are those of a program with an image for every plugin. The stderr of plugins is
    passed on. A plugin that ends the asking process, or hangs, has the state FAILS. Raises
    MissingToolError if plugins fail only together.
    """
    environment = dict(os.environ) if environment is None else environment
    library = runtime or libdir() / LIBRARY
    words = ("named" if has_names else "nameless", *(str(w) for image in images for w in image))
    try:
        said = _told(_ask(library, environment, "", *words), len(images))
    except NoAnswerError as error:
        try:
            said = _each_alone(library, environment, words, len(images))
        except NoAnswerError:  # the plugins cannot even be listed
            raise MissingToolError(f"asking the plugins of {library} {error}") from error
        if not any(row["state"] == FAILS for row in said.plugins):
            raise MissingToolError(f"asking the plugins {error}") from error
    number = 0
    for row in said.plugins:
        count = row["devices"] if row["state"] == "ready" else 0
        described = row.pop("described", {})
        row["devices"] = [
            {"number": number + n} | UNDESCRIBED | described.get(str(n), {}) for n in range(count)
        ]
        number += count
    return said


def listed(environment: dict[str, str]) -> list[str]:
    """Return the names of the plugins, in the order of asking.

    Raises NoAnswerError if they cannot be listed.
    """
    return [name for name, _ in _ask(libdir() / LIBRARY, environment, "listed")[0]]


def _ask(library: Path, environment: dict[str, str], *words: str) -> list[Any]:
    return ask(ASKER, str(library), *words, environment=environment)


def _told(steps: list[Any], images: int) -> Answers:
    """Return the answers about each image from the time after devices were counted."""
    return Answers(steps[images], steps[images + 1 :])


def _each_alone(
    library: Path, environment: dict[str, str], words: Sequence[str], images: int
) -> Answers:
    """Ask each plugin in its own process, after one of them ended the process that asked all."""
    plugins: Plugins = []
    answers: list[list[dict[str, Any]]] = [[] for _ in range(images)]
    fatal = ""
    for name, path in _ask(library, environment, "listed")[0]:
        try:
            said = _told(_ask(library, environment | {ONLY: name}, path, *words)[1:], images)
        except NoAnswerError as error:
            passed_on(error.said)
            said = _as_far_as_it_came(name, path, error, images)
        plugins += (row for row in said.plugins if row not in plugins)
        for known, more in zip(answers, said.images, strict=True):
            known += more
        fatal = fatal or said.fatal
    return Answers(plugins, answers, fatal)


def _as_far_as_it_came(name: str, path: str, error: NoAnswerError, images: int) -> Answers:
    """Return a plugin's answers before it ended the process."""
    tried = [list(answers) for answers in error.answers[1 : images + 1]]
    asked = [f"of image {n}" for n in range(images)]
    steps = ["opening it", *(f"asking it {one}" for one in asked), "counting its devices"]
    step = [*steps, *(f"asking it again {one}" for one in asked)][len(error.answers)]
    reason = f"{step} {error}"
    row = {"name": name, "path": path, "state": FAILS, "reason": reason, "devices": 0}
    if len(tried) == images:  # devices are counted for a program with an image for each plugin
        for answer in (answer for answers in tried for answer in answers if answer["accepts"]):
            answer |= {"reason": reason, "fatal": True}
    ending = {"plugin": name, "accepts": False, "reason": reason, "fatal": True}
    tried += ([ending] for _ in range(images - len(tried)))
    return Answers(
        [row], tried, "" if error.answers else f"plugin {name} ends the program: {reason}"
    )


def ask_cuda(library: Path | None, environment: dict[str, str]) -> Cuda | None:
    """Ask CUDA's driver at `library` for its devices; None without a driver."""
    if library is None:
        return None
    try:
        (said,) = ask("omptool.probes.cuda_driver", str(library), environment=environment)
    except NoAnswerError as error:
        passed_on(error.said)
        return Cuda(f"asking CUDA's driver {error}")
    return Cuda(said["problem"], tuple(said["devices"]))
