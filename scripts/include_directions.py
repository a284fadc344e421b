#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Check that the runtime's #include lines point to lower rooms.

Usage: scripts/include_directions.py [RUNTIME]

Prints a line for each that does not, and exits 1. docs/architecture.md draws the rooms.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

# Rooms from the top. A file includes files of its own room and of the lines below.
LEVELS = (
    ("observe",),
    ("observe/check/full",),
    ("observe/check", "observe/summary", "observe/trace"),
    ("observe/output",),
    ("worker",),
    ("libomptarget/abi/interface", "libomptarget/abi/proposal", "libomptarget/abi/routines"),
    ("libomptarget/abi/llvm",),
    ("libomptarget/abi",),
    ("libomptarget/abi/info",),
    ("libomptarget/offload",),
    ("libomptarget/devices",),
    ("libomptarget/data",),
    ("libomptarget/data/table",),
    ("libomptarget/rtl",),
    ("libomptarget/observe",),
    ("libomptarget/observe/ompt",),
    ("libomptarget/observe/events",),
    ("libomptarget/process",),
    (
        "libomptarget/threads",
        "plugins/cuda",
        "plugins/liboffload",
        "plugins/mpi",
        "plugins/opencl",
        "plugins/host",
        "devicertl",
        "devicertl/spirv",
    ),
    (
        "plugins/compile",
        "plugins/gpu",
        "plugins/cuda/driver",
        "plugins/mpi/transport",
        "plugins/host/kernels",
        "inspect",
    ),
    ("plugins/common",),
    ("common",),
    ("machine/aarch64", "machine/x86_64"),
    ("include",),
)
# libomptool_observe.so is not linked with the core, and includes no other rooms of it.
OBSERVERS = "observe"
OBSERVERS_INCLUDE = (
    "libomptarget/observe",
    "libomptarget/observe/events",
    "libomptarget/process",
    "libomptarget/threads",
    "common",
)
# Rooms whose files are included by their names alone.
SEARCHED = ("libomptarget", "observe", "plugins", "common", "machine/x86_64", "include")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
LEVEL = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}


def room_of(file: str) -> str:
    """Return the folder of a file, both relative to the runtime's folder."""
    return file.rpartition("/")[0]


def included(runtime: Path, file: str) -> Iterator[str]:
    """Yield the runtime's files that `file` includes, all relative to the runtime's folder."""
    for name in INCLUDE.findall((runtime / file).read_text()):
        for folder in (room_of(file), *SEARCHED):
            if (runtime / folder / name).is_file():
                yield f"{folder}/{name}"
                break
        else:
            yield name


def faults(runtime: Path) -> Iterator[str]:
    """Yield a line for each include that runs upwards or across, and each room without a level."""
    trees = (
        "libomptarget",
        "observe",
        "plugins",
        "devicertl",
        "inspect",
        "common",
        "machine",
        "include",
    )
    files = (p for tree in trees for p in (runtime / tree).rglob("*") if p.suffix in {".h", ".cpp"})
    for path in sorted(files):
        file = path.relative_to(runtime).as_posix()
        here = LEVEL.get(room_of(file))
        if here is None:
            yield f"{file}: its room has no level"
            continue
        for target in included(runtime, file):
            there = LEVEL.get(room_of(target))
            if there is None:
                yield f"{file}: {target} is in no room"
            elif there < here or (there == here and room_of(target) != room_of(file)):
                yield f"{file}: {target} is not below it"
            elif is_observers(file) and not (
                is_observers(target) or room_of(target) in OBSERVERS_INCLUDE
            ):
                yield f"{file}: {target} is the core's, which observers do not see"


def is_observers(file: str) -> bool:
    """Return whether a file is part of libomptool_observe.so."""
    return file.partition("/")[0] == OBSERVERS


def main() -> None:
    """Check, print, exit."""
    default = Path(__file__).parents[1] / "runtime"
    found = list(faults(Path(sys.argv[1]) if len(sys.argv) > 1 else default))
    for line in found:
        print(line)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
