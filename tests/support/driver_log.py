# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parse the log of the fake CUDA driver: launches of clang's kernels, and copies for them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

NOTHING = 2**64 - 1  # value for a missing launch environment
BLOCK = 1 << 20  # size of cached blocks of small pieces
LEAST = 1 << 16  # allocations of this size and more have blocks of their own


@dataclass
class Launch:
    """One cuLaunchKernel of the log."""

    line: int  # line of the source
    blocks: int
    threads: int
    memory: int
    arguments: list[int]


class Log:
    """The calls that the fake driver got."""

    def __init__(self, path: Path) -> None:
        self.calls = [line.split() for line in path.read_text().splitlines()]

    def of(self, *functions: str) -> list[list[str]]:
        return [call for call in self.calls if call[0] in functions]

    def launches(self) -> list[Launch]:
        calls = self.of("cuLaunchKernel")
        return [_launch(call) for call in calls if not call[1].startswith("nvptx$")]

    def sent(self, argument: int) -> list[tuple[int, int]]:
        """Return the host address and size of each copy to this device address."""
        copies = self.of("cuMemcpyHtoDAsync")
        return [(int(copy[2], 16), int(copy[3])) for copy in copies if int(copy[1]) == argument]

    def unloads_all(self) -> None:
        assert len(self.of("cuModuleLoadDataEx")) == len(self.of("cuModuleUnload"))

    def blocks(self) -> list[int]:
        """Return the sizes of device allocations, without small ones and images' blocks."""
        return [size for size in self._allocated() if size >= LEAST and size != BLOCK]

    def tables(self) -> list[int]:
        """Return the sizes of device allocations for images' tables."""
        return [size for size in self._allocated() if size < LEAST]

    def _allocated(self) -> list[int]:
        return [int(call[1]) for call in self.of("cuMemAlloc")]


def _launch(call: list[str]) -> Launch:
    line = re.search(r"_l(\d+)$", call[1])
    assert line, call
    numbers = [int(word, 0) for word in call[2:9]]
    assert numbers[1:3] == numbers[4:6] == [1, 1]
    arguments = [int(word, 16) if word != "0" else 0 for word in call[10 : call.index("=")]]
    return Launch(int(line[1]), numbers[0], numbers[3], numbers[6], arguments)
