# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Find AMD's GPUs in amdkfd's topology in sysfs."""

from __future__ import annotations

from pathlib import Path

NODES = Path("/sys/class/kfd/kfd/topology/nodes")
MAX_NODES = 1024


def processors() -> tuple[str, ...]:
    """Return the processors, e.g. "gfx90a", in the driver's order; none without a driver."""
    numbers = [int(path.name) for path in NODES.glob("*") if path.name.isdecimal()]
    found = (_processor(NODES / str(number)) for number in sorted(numbers)[:MAX_NODES])
    return tuple(name for name in found if name)


def _processor(node: Path) -> str:
    """Return the processor of a node; "" for a CPU, which is a node as well."""
    try:
        lines = (node / "properties").read_text().splitlines()
    except OSError:
        return ""
    said = dict(line.split(" ", 1) for line in lines if " " in line)
    version = said.get("gfx_target_version", "0")  # two decimal digits each but for the first
    if said.get("simd_count", "0") == "0" or not version.isdecimal() or not int(version):
        return ""
    major, rest = divmod(int(version), 10000)
    return f"gfx{major}{rest // 100:x}{rest % 100:x}"
