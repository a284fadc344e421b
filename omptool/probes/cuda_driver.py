# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ask CUDA's driver for its devices; print JSON: {problem, devices: [90, ...]}.

Run as a process of its own: a driver is somebody's native code, and one that crashes must not take
the command line with it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

from omptool.probes.answering import answer

MAJOR, MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*
MAX_DEVICES = 1024


class DriverError(Exception):
    """A call that failed."""


def main(library: str) -> None:
    """Print the driver's answers."""
    answer(_asked(library))


def _asked(library: str) -> Iterator[dict[str, object]]:
    try:
        yield {"problem": "", "devices": _devices(library)}
    except (DriverError, OSError, AttributeError) as error:  # the library or a function is missing
        yield {"problem": str(error), "devices": []}


def _devices(library: str) -> list[int]:
    driver = ctypes.CDLL(library)
    _call(driver, "cuInit", 0)
    count = ctypes.c_int()
    _call(driver, "cuDeviceGetCount", ctypes.byref(count))
    return [_processor(driver, number) for number in range(min(count.value, MAX_DEVICES))]


def _processor(driver: ctypes.CDLL, number: int) -> int:
    major, minor = ctypes.c_int(), ctypes.c_int()
    for attribute, value in ((MAJOR, major), (MINOR, minor)):
        _call(driver, "cuDeviceGetAttribute", ctypes.byref(value), attribute, number)
    return major.value * 10 + minor.value


def _call(driver: ctypes.CDLL, name: str, *arguments: object) -> None:
    code = getattr(driver, name)(*arguments)
    if code:
        raise DriverError(f"{name} of CUDA's driver returned {code}")
