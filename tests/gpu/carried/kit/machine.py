# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Look at this machine, and start the kit's programs on it."""

from __future__ import annotations

import ctypes
import json
import os
import platform
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

Asked = TypeVar("Asked")
Found = TypeVar("Found")

PATIENCE = 120.0  # seconds
AT_ONCE = 4
NOTHING: Mapping[str, str] = {}
# Prints whether the plugin has a device, in a process of its own.
OPENCL = """
import ctypes, sys
plugin = ctypes.CDLL(sys.argv[1])
plugin.__tgt_rtl_last_error.restype = ctypes.c_char_p
count = plugin.__tgt_rtl_number_of_devices()
print("ready" if count > 0 else (plugin.__tgt_rtl_last_error() or b"none").decode())
"""
MAJOR, MINOR = 75, 76  # attributes of a device: its compute capability
# File in the folder of LLVM's libraries that marks a complete unpacking.
UNPACKED = ".unpacked"


@dataclass
class Done:
    """The end of a program."""

    code: int
    out: str
    err: str
    seconds: float

    def told(self) -> str:
        """Return the outcome in one line."""
        how = f"exit code {self.code}"
        if self.code < 0:
            how = f"signal {signal.Signals(-self.code).name}"
        said = " | ".join((self.err.strip() or self.out.strip()).splitlines()[:4])
        return f"{how}, {said[:600]}" if said else how


@dataclass
class Machine:
    """The kit's folder, and the first GPU."""

    kit: Path
    driver: Path | None
    why_not: str = ""
    has_opencl: bool = False
    why_no_opencl: str = ""
    gpus: int = 0
    name: str = ""
    capability: str = ""
    cuda: str = ""
    manifest: dict[str, Any] = field(default_factory=dict)

    @property
    def has_gpu(self) -> bool:
        return self.gpus > 0

    @property
    def is_fake(self) -> bool:
        """Return whether the driver is the fake of the runtime's tests, which runs no kernel."""
        return self.name.startswith("FAKE")

    def libraries(self, *first: Path) -> str:
        """Return LD_LIBRARY_PATH for programs on the kit's runtime, or on libraries in `first`."""
        folders = [*(first or [self.kit / "lib"]), *([self.driver] if self.driver else [])]
        theirs = os.environ.get("LD_LIBRARY_PATH")
        return ":".join([*map(str, folders), *([theirs] if theirs else [])])

    def start(
        self,
        command: Sequence[object],
        environment: Mapping[str, str] = NOTHING,
        patience: float = PATIENCE,
    ) -> Done:
        """Run a program on the kit's runtime; kill it after `patience` seconds."""
        own = {"LD_LIBRARY_PATH": self.libraries(), "OMPTOOL_PLUGINS": "cuda"} | dict(environment)
        started = time.monotonic()
        try:
            done = subprocess.run(
                [str(word) for word in command],
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
                timeout=patience,
                env=os.environ | own,
            )
        except subprocess.TimeoutExpired:
            return Done(-signal.SIGKILL, "", f"not ended within {patience:.0f} s", patience)
        except OSError as error:
            return Done(127, "", str(error), 0)
        return Done(done.returncode, done.stdout, done.stderr, time.monotonic() - started)

    def llvm(self) -> Path | None:
        """Return the folder of LLVM 19's runtime, unpacked at the first call, or None."""
        packed = self.kit / "llvm.tar.xz"
        if not packed.exists():
            return None
        folder = self.kit / "llvm"
        if not (folder / UNPACKED).exists():
            with tarfile.open(packed) as archive:
                archive.extractall(folder)
            (folder / "libomptarget.so").symlink_to(
                "libomptarget.so.19.1"
            )  # as programs ask for it
            (folder / UNPACKED).touch()
        return folder


def at_once(test: Callable[[Asked], Found], all_of_it: Iterable[Asked]) -> Iterator[Found]:
    """Yield what `test` finds for each, in their order; several run at once."""
    with ThreadPoolExecutor(min(AT_ONCE, os.cpu_count() or 1)) as pool:
        yield from pool.map(test, all_of_it)


def look(kit: Path, driver: Path | None) -> Machine:
    """Return what this machine has, by the drivers' own calls."""
    manifest = json.loads((kit / "manifest.json").read_text())
    machine = _with_gpu(Machine(kit, driver.resolve() if driver else None, manifest=manifest))
    plugin = kit / "lib" / "libomptarget.rtl.opencl.so"
    done = machine.start([sys.executable, "-c", OPENCL, plugin])
    machine.why_no_opencl = f"no device of OpenCL: {done.out.strip() or done.told()}"
    machine.has_opencl = done.out.startswith("ready")
    return machine


def _with_gpu(machine: Machine) -> Machine:
    name = str(machine.driver / "libcuda.so.1") if machine.driver else "libcuda.so.1"
    try:
        cuda = ctypes.CDLL(name)
    except OSError as error:
        machine.why_not = f"no NVIDIA driver ({error})"
        return machine
    if result := cuda.cuInit(0):
        machine.why_not = f"the driver's cuInit fails with {result}"
        return machine
    count = ctypes.c_int()
    cuda.cuDeviceGetCount(ctypes.byref(count))
    if count.value < 1:
        machine.why_not = "the driver has no device"
        return machine
    machine.gpus = count.value
    text = ctypes.create_string_buffer(256)
    cuda.cuDeviceGetName(text, len(text), 0)
    machine.name = text.value.decode(errors="replace")
    machine.capability = "".join(str(_attribute(cuda, what)) for what in (MAJOR, MINOR))
    version = ctypes.c_int()
    cuda.cuDriverGetVersion(ctypes.byref(version))
    machine.cuda = f"{version.value // 1000}.{version.value % 1000 // 10}"
    return machine


def _attribute(cuda: ctypes.CDLL, what: int) -> int:
    value = ctypes.c_int()
    cuda.cuDeviceGetAttribute(ctypes.byref(value), what, 0)
    return value.value


def described(machine: Machine) -> dict[str, Any]:
    """Return the machine's facts for the file of results."""
    return {
        "gpu": machine.name,
        "gpus": machine.gpus,
        "opencl": machine.has_opencl or machine.why_no_opencl,
        "capability": machine.capability,
        "driver's CUDA": machine.cuda,
        "fake driver": machine.is_fake,
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "kit": machine.manifest,
    }
