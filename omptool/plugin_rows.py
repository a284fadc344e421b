"""Asks a libomptarget.so for its plugins, and which of them accept an image; prints JSON.

Run as a process of its own (`python -m omptool.plugin_rows LIBRARY named|nameless [IMAGE...]`; the
word is about the program's entries): a plugin is somebody's native code, and one that crashes must
not take the command line with it.
"""

from __future__ import annotations

import ctypes
import json
import sys
from pathlib import Path

_ROW = ctypes.CFUNCTYPE(
    None,
    ctypes.c_void_p,
    ctypes.c_char_p,
    ctypes.c_char_p,
    ctypes.c_char_p,
    ctypes.c_char_p,
    ctypes.c_int32,
)


_ANSWER = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int32, ctypes.c_char_p)


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("utf-8", "backslashreplace")


def main(library: str, entries: str, *images: str) -> None:
    """Print the plugins and, for each image, their answers, in the order they are asked.

    {plugins: [{name, path, state, reason, devices}], images: [[{plugin, accepts, reason}]]}
    """
    runtime = ctypes.CDLL(library)
    answers = [_tried(runtime, image, entries == "named") for image in images]
    sys.stdout.write(json.dumps({"plugins": _plugins(runtime), "images": answers}))


def _tried(runtime: ctypes.CDLL, image: str, has_names: bool) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []

    def row(_context: object, name: bytes, accepts: int, reason: bytes) -> None:
        why = (_text(reason) or "").strip().removeprefix("(").removesuffix(")")
        rows.append({"plugin": _text(name), "accepts": bool(accepts), "reason": why})

    data = Path(image).read_bytes()
    size = ctypes.c_uint64(len(data))
    runtime.omptool_try_image(data, size, has_names, _ANSWER(row), None)
    return rows


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
            }
        )

    runtime.omptool_describe_plugins(_ROW(row), None)
    return rows


if __name__ == "__main__":
    main(*sys.argv[1:])
