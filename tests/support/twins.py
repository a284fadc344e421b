# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compare the compiled helper's result for an image with that of its twin in Python."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from packager.errors import FormatError
from packager.files.reader import Reader
from packager.formats.compressed import helper
from packager.formats.device_images import device_elf, ptx
from packager.look import WHOLE, Look
from packager.model import Contents

Inspect = Callable[[Reader], Contents]
# Functions that read the kinds of images that the helper supports.
KINDS: dict[str, Inspect] = {"cubin": device_elf.inspect, "ptx": ptx.inspect}


def both(inspect: Inspect, content: bytes, look: Look = WHOLE) -> tuple[object, object]:
    """Return the results with the helper and by the twin alone, and the bytes each has read."""
    with pytest.MonkeyPatch.context() as patch:
        first = said(inspect, content, look)
        patch.setattr(helper, "built", lambda: None)
        return first, said(inspect, content, look)


def said(inspect: Inspect, content: bytes, look: Look) -> object:
    data = Reader(b"before" + content, context=Reader(content).context).slice(
        6, len(content), "image"
    )
    data.context.look = look
    try:
        return inspect(data), data.context.strings
    except FormatError as error:
        return str(error)
