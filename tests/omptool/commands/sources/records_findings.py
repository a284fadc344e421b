# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program that records findings, as the runtime does: argv[1] is a list of them as JSON.

Keys are those of FindingRecord; texts are Latin-1. "end" in a finding ends the program, by a signal
if it is negative. "raw" is what is written over the table, from its first byte.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import sys
from pathlib import Path
from typing import Any

RECORD = struct.Struct("<QQQQQQQIIii504s120s392s480s480s")
HEADER_SIZE, LOST_AT = 64, 20
NUMBERS = ("count", "bytes", "host", "size", "call", "kernel")
TEXTS = ("message", "variable", "entry", "source", "call_file")


def packed(number: int, finding: dict[str, Any]) -> bytes:
    values = [finding.get(name, name == "count") for name in NUMBERS]
    texts = [finding.get(name, "").encode("latin-1") for name in TEXTS]
    place = (number, finding["code"], os.getpid(), finding.get("device", -1))
    return RECORD.pack(number, *values, *place, *texts)


def main() -> None:
    with Path(os.environ["OMPTOOL_CHECK"]).open("r+b") as table:
        for number, finding in enumerate(json.loads(sys.argv[1]), 1):
            if "raw" in finding:
                table.seek(0)
                table.write(finding["raw"].encode("latin-1"))
            if "lost" in finding:
                table.seek(LOST_AT)
                table.write(struct.pack("<I", finding["lost"]))
            if "code" in finding:
                table.seek(HEADER_SIZE + (number - 1) * RECORD.size)
                table.write(packed(number, finding))
            if "end" in finding:
                table.flush()
                end(finding["end"])


def end(code: int) -> None:
    print("ends", flush=True)
    if code < 0:
        signal.signal(-code, signal.SIG_DFL) if code != -signal.SIGKILL else None
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    main()
