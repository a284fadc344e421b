"""Asks a libomptarget.so for its plugins and prints them as JSON rows.

Run as a process of its own (`python -m omptool.plugin_rows LIBRARY`): a plugin is somebody's
native code, and one that crashes must not take the command line with it.
"""

from __future__ import annotations

import ctypes
import json
import sys

_ROW = ctypes.CFUNCTYPE(
    None,
    ctypes.c_void_p,
    ctypes.c_char_p,
    ctypes.c_char_p,
    ctypes.c_char_p,
    ctypes.c_char_p,
    ctypes.c_int32,
)


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("utf-8", "backslashreplace")


def main(library: str) -> None:
    """Print [{name, path, state, reason, devices}] in the order the runtime asks them."""
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

    ctypes.CDLL(library).omptool_describe_plugins(_ROW(row), None)
    sys.stdout.write(json.dumps(rows))


if __name__ == "__main__":
    main(sys.argv[1])
