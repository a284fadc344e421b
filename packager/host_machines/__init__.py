# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The machines whose host files omptool writes, and whose code it reads.

For another one: write its code and its reader, and add a row. Readers of pointers know more
machines (`packager.elf.address_space`).
"""

from __future__ import annotations

from packager.errors import UsageError
from packager.host_machines.aarch64 import ArmCode
from packager.host_machines.aarch64_reader import ArmReader
from packager.host_machines.machine import HostMachine
from packager.host_machines.x86_64 import X86Code
from packager.host_machines.x86_64_reader import X86Reader

SHF_X86_64_LARGE = 0x10000000
# Relocations and sections follow the psABIs.
X86_64 = HostMachine(
    "x86_64", 62, "x86_64-pc-linux-gnu", absolute=1, slot=6, relative=8, page=0x1000,
    most=1 << 47, image_flags=SHF_X86_64_LARGE, property_type=0xC0000002, features=3,
    code=X86Code(), reader=X86Reader(),
)  # fmt: skip
AARCH64 = HostMachine(
    "aarch64", 183, "aarch64-unknown-linux-gnu", absolute=257, slot=1025, relative=1027,
    page=0x10000, most=1 << 48, image_flags=0, property_type=0xC0000000, features=3,
    code=ArmCode(), reader=ArmReader(),
)  # fmt: skip
MACHINES = {machine.name: machine for machine in (X86_64, AARCH64)}
NAMES = " and ".join(MACHINES)
OTHER_NAMES = {"amd64": X86_64.name, "arm64": AARCH64.name}  # names on Windows and macOS


def written(name: str) -> HostMachine:
    """Return the machine of a host. Raises UsageError for one that no host is written for."""
    machine = MACHINES.get(name)
    if machine is None:
        raise UsageError(f"is for {name}; hosts are written for {NAMES}")
    return machine


def own() -> HostMachine:
    """Return the machine that omptool runs on. Raises UsageError for an unsupported one."""
    import platform  # slow to load, and rarely needed

    name = platform.machine()
    return written(OTHER_NAMES.get(name.lower(), name))
