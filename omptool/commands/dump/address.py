# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool dump --address`: name the symbols at an address of the host or of a device."""

from __future__ import annotations

from omptool.console import echo, shown
from omptool.reading import Files
from packager.questions.locate import locate


def show(found: Files, addresses: tuple[int, ...]) -> int:
    """Print the contents at each address; return the exit code."""
    known: set[int] = set()
    for binary in found:
        for address in addresses:
            for line in locate(binary, address):
                known.add(address)
                echo(f"{shown(binary.path)}: {address:#x} is {line}")
    for address in addresses:
        if address not in known:
            echo(f"no image, entry or descriptor is at {address:#x}")
    return 2 if found.failed else 0 if known == set(addresses) else 1
