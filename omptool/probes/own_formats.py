# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ask plugins on this machine about images of unknown formats.

A plugin may interpret the bytes as it likes (the proposal of 2013, "target device runtime
library").
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from omptool.errors import fail
from packager.errors import MissingToolError
from packager.files.reader import OpenFiles, Reader
from packager.model import FatBinary
from packager.records import NamedTuple
from packager.writers.requests import ImageRequest, has_own_format

# Nearly all images have known formats, so the modules that ask plugins are imported on demand.
if TYPE_CHECKING:
    from omptool.probes.ask import ImageBytes

INPUTS = 2  # the exit code for an unfit input


class Verdict(NamedTuple):
    """The plugin that accepts an image; "" and each plugin's reason if none does."""

    plugin: str
    reasons: str


def judged(binary: FatBinary, data: Sequence[Reader]) -> FatBinary:
    """Return the file without the problem of images that a plugin here accepts.

    `data` has the bytes of its images.
    """
    own = [image.index for image in binary.images if image.contents.is_own]
    if not own:
        return binary
    from packager.files.temporary import temporary_folder

    with temporary_folder() as folder:
        places = [_stored(data[index], folder / str(index)) for index in own]
        verdicts = dict(zip(own, _asked(places), strict=True))
    taken = {index for index, verdict in verdicts.items() if verdict.plugin}
    images = (image.taken if image.index in taken else image for image in binary.images)
    return binary._replace(images=tuple(images))


def with_plugins(
    subject: Path, requests: Sequence[ImageRequest], files: OpenFiles, *, force: bool
) -> list[ImageRequest]:
    """Return the requests, with the plugins that accept images of unknown formats.

    If no plugin does, the command ends, unless `force` is set.
    """
    own = [request for request in requests if has_own_format(request, files)]
    if not own:
        return list(requests)
    places = [_shared(files.data(request.path)) for request in own]
    verdicts = dict(zip(map(id, own), _asked(places), strict=True))
    found = []
    for request in requests:
        verdict = verdicts.get(id(request))
        if verdict and not verdict.plugin and not force:
            what = "has an unknown format, and no plugin on this machine takes it"
            fail(f"{subject}: image {request.path}: {what}{verdict.reasons}", INPUTS)
        found.append(request._replace(plugin=verdict.plugin) if verdict else request)
    return found


def _asked(places: Sequence[ImageBytes]) -> list[Verdict]:
    from omptool.probes.ask import ask_plugins

    try:
        # The message has the reasons; the runtime's own lines would repeat them.
        answers = ask_plugins(places, dict(os.environ) | {"OMPTOOL_QUIET": "1"}).images
    except MissingToolError as error:  # no runtime, or one of its plugins ends the process
        return [Verdict("", f" ({error})")] * len(places)
    return [_verdict(rows) for rows in answers]


def _verdict(rows: Sequence[dict[str, object]]) -> Verdict:
    plugin = next((str(row["plugin"]) for row in rows if row["accepts"]), "")
    reasons = [f"{row['plugin']}: {row['reason']}" for row in rows if row["reason"]]
    if not rows:
        reasons = ["no plugin was found"]
    return Verdict(plugin, f" ({'; '.join(reasons)})" if reasons else "")


def _shared(data: Reader) -> ImageBytes:
    """Return the path of an open file's descriptor: its own path may lead elsewhere by now."""
    from omptool.probes.ask import ImageBytes

    return ImageBytes(Path(f"/proc/{os.getpid()}/fd/{data.fileno()}"), data.at, len(data))


def _stored(data: Reader, copy: Path) -> ImageBytes:
    from omptool.probes.ask import ImageBytes
    from packager.files.temporary import store

    store(copy, data.pieces())
    return ImageBytes(copy, 0, len(data))
