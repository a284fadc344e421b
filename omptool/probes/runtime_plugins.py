# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ask a libomptarget.so which of its plugins accept an image, and for their devices; print JSON.

Run as a process of its own: a plugin is somebody's native code, and one that crashes must not take
the command line with it.

    main(LIBRARY, "listed")
    main(LIBRARY, PLUGIN, "named" or "nameless", [FILE, OFFSET, SIZE]...)

The first lists the files of plugins. PLUGIN is one that is to be opened first, or ""; the word is
about the program's entries; the rest says where the images are. Programs take the same steps.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from omptool.probes.answering import answer

_ROW = ctypes.CFUNCTYPE(
    None,
    ctypes.c_void_p,
    ctypes.c_char_p,
    ctypes.c_char_p,
    ctypes.c_char_p,
    ctypes.c_char_p,
    ctypes.c_int32,
)


class _Description(ctypes.Structure):
    """tgt_device_description of omptarget_rtl.h."""

    _fields_ = (
        ("size", ctypes.c_uint32),
        ("units", ctypes.c_uint32),
        ("memory", ctypes.c_uint64),
        ("team_memory", ctypes.c_uint64),
        ("threads", ctypes.c_uint32),
        ("architecture", ctypes.c_char * 28),
        ("name", ctypes.c_char * 64),
        ("driver", ctypes.c_char * 64),
        ("images", ctypes.c_char * 64),
        ("rank", ctypes.c_int32),
        ("node", ctypes.c_char * 60),
        ("title", ctypes.c_char * 128),
    )


_DEVICE = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int32, ctypes.POINTER(_Description)
)
_FILE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)
_ANSWER = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int32, ctypes.c_char_p)


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("utf-8", "backslashreplace")


def main(library: str, *words: str) -> None:
    """Print the requested answers."""
    answer(_listed(library) if words == ("listed",) else _asked(library, *words))


def _listed(library: str) -> Iterator[list[tuple[str | None, str | None]]]:
    """Yield [[name, path]], in the order of asking."""
    rows: list[tuple[str | None, str | None]] = []

    def row(_context: object, name: bytes, path: bytes) -> None:
        rows.append((_text(name), _text(path)))

    ctypes.CDLL(library).omptool_list_plugins(_FILE(row), None)
    yield rows


def _asked(
    library: str, plugin: str, entries: str, *places: str
) -> Iterator[list[dict[str, object]] | None]:
    """Yield the answers of the library's plugins.

    First comes None if a plugin was named. Then come [{plugin, accepts, reason}] for each image,
    [{name, path, state, reason, devices, described}], and again [{plugin, accepts, reason}] for
    each image: a plugin that has counted its devices may refuse images that they do not run.
    """
    runtime = ctypes.CDLL(library)
    if plugin:
        with suppress(OSError):  # then it is refused
            ctypes.CDLL(plugin)
        yield None
    images = [*zip(places[::3], map(int, places[1::3]), map(int, places[2::3]), strict=True)]
    tried = []
    for image in images:
        tried.append(_tried(runtime, *image, entries == "named"))
        yield tried[-1]
    yield _plugins(runtime)
    for image, rows in zip(images, tried, strict=True):
        is_accepted = any(row["accepts"] for row in rows)
        yield _tried(runtime, *image, entries == "named") if is_accepted else rows


def _tried(
    runtime: ctypes.CDLL, file: str, offset: int, size: int, has_names: bool
) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []

    def row(_context: object, name: bytes, accepts: int, reason: bytes) -> None:
        why = (_text(reason) or "").strip().removeprefix("(").removesuffix(")")
        rows.append({"plugin": _text(name), "accepts": bool(accepts), "reason": why})

    image = _mapped(file, offset, size)
    length = ctypes.c_uint64(size)
    runtime.omptool_try_image(ctypes.byref(image), length, has_names, _ANSWER(row), None)
    return rows


def _mapped(file: str, offset: int, size: int) -> ctypes.c_char:
    """Map an image into memory and return its first byte; only pages that are read get loaded."""
    if not size:
        return ctypes.c_char()
    inside = offset % mmap.ALLOCATIONGRANULARITY
    with Path(file).open("rb") as opened:
        # A copy-on-write mapping: ctypes needs a writable buffer.
        access, start = mmap.ACCESS_COPY, offset - inside
        data = mmap.mmap(opened.fileno(), inside + size, access=access, offset=start)
    return ctypes.c_char.from_buffer(data, inside)


def _plugins(runtime: ctypes.CDLL) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []

    def row(
        _context: object, name: bytes, path: bytes, state: bytes, reason: bytes, devices: int
    ) -> None:
        rows.append(
            {
                "name": _text(name),
                "path": _text(path),
                "state": _text(state),
                "reason": _text(reason),
                "devices": devices,
                "described": described.get(_text(name), {}),
            }
        )

    described = _descriptions(runtime)
    runtime.omptool_describe_plugins(_ROW(row), None)
    return rows


def _descriptions(runtime: ctypes.CDLL) -> dict[str | None, dict[int, dict[str, object]]]:
    """Return the devices of each plugin, by the plugin's numbers for them."""
    all_of: dict[str | None, dict[int, dict[str, object]]] = {}

    def row(_context: object, plugin: bytes, device: int, said: Any) -> None:
        all_of.setdefault(_text(plugin), {})[device] = {
            "name": _text(said[0].name) or None,
            "architecture": _text(said[0].architecture) or None,
            "memory": said[0].memory or None,
            "units": said[0].units or None,
            "team_memory": said[0].team_memory or None,
            "team_threads": said[0].threads or None,
            "driver": _text(said[0].driver) or None,
            "images": (_text(said[0].images) or "").split(", ") if said[0].images else None,
            "rank": said[0].rank if said[0].node else None,
            "node": _text(said[0].node) or None,
            "title": _text(said[0].title) or None,
        }

    runtime.omptool_describe_devices(_DEVICE(row), None)
    return all_of
