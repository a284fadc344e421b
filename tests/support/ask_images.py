# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ask a plugin that knows its devices which headers of AMD's code objects it accepts.

Usage: ask_images.py PLUGIN E_FLAGS...; prints 1 or 0 for each.
"""

from __future__ import annotations

import ctypes
import struct
import sys


class _Image(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_void_p) for name in ("start", "end", "first", "last"))


def main(path: str, flags: list[str]) -> None:
    """Print the answers in a line."""
    plugin = ctypes.CDLL(path)
    assert plugin["__tgt_rtl_number_of_devices"]() == 1
    answers = []
    for word in flags:
        header = b"\x7fELF\x02\x01\x01\x40\x02".ljust(16, b"\0")
        header += struct.pack(
            "<HHIQQQIHHHHHH", 3, 224, 1, 0, 0, 0, int(word, 0), 64, 56, 0, 64, 0, 0
        )
        data = ctypes.create_string_buffer(header, len(header))
        begin = ctypes.addressof(data)
        record = _Image(begin, begin + len(header), None, None)
        answers.append(str(plugin["__tgt_rtl_is_valid_binary"](ctypes.byref(record))))
    print(*answers)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
