# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The CUDA driver's calls that constructs take, beside LLVM 19's own plugin.

Usage: python bench/cuda_calls.py [--ptxas FILE]

They are counted on the fake driver of runtime/tests. No kernel runs: this says how often the driver
is asked, and nothing of time. The program is clang-19's, with one cubin for both. LLVM 19's plugin
takes none of CUDA 13: `ptxas` has to be of CUDA 12, as PyPI's nvidia-cuda-nvcc-cu12 has it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from tabulate import tabulate

from omptool.installation import libdir

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests" / "support"))
import nvptx  # noqa: E402
from clangs import INSTALLED, libraries, tool  # noqa: E402
from fixture_programs import NVPTX  # noqa: E402

SOURCE = HERE / "cuda_calls.c"
OF_PYPI = Path(sysconfig.get_path("purelib")) / "nvidia" / "cuda_nvcc" / "bin" / "ptxas"
MOST = 0.5  # share of LLVM's calls


def build(folder: Path, ptxas: Path) -> Path:
    """Build the program; its device code contains all that it needs of clang's device library."""
    program = nvptx.with_ptx(INSTALLED, SOURCE, folder, "-O2")
    whole, ptx, cubin, image = (folder / f"whole.{end}" for end in ("bc", "ptx", "cubin", "o"))
    library = nvptx.device_library(INSTALLED)
    clang = [*tool(INSTALLED), f"--target={NVPTX}", "-nogpulib", "--cuda-path=/nowhere", "-O2"]
    linking = ["--internalize", "--only-needed", folder / "device.bc", library]
    libs = [f"-L{libdir()}", "-lomptarget", f"-L{libraries(INSTALLED)}", "-lomp"]
    for command in (
        [*tool(INSTALLED, "llvm-link"), *linking, "-o", whole],
        [*clang, f"-march={nvptx.ARCHITECTURE}", "-x", "ir", "-S", whole, "-o", ptx],
        [ptxas, f"-arch={nvptx.ARCHITECTURE}", ptx, "-o", cubin],
        ["gcc", f'-DIMAGE="{cubin}"', "-c", nvptx.REGISTERED, "-o", image],
        ["g++", folder / "host.o", image, *libs, "-o", program],
    ):
        subprocess.run([str(word) for word in command], check=True)
    return program


def build_driver(folder: Path) -> Path:
    """Build the fake driver and return its folder."""
    for command in (
        ["cmake", "-S", HERE.parent / "runtime", "-B", folder, "-G", "Ninja", "-DOMPTOOL_TESTS=ON"],
        ["cmake", "--build", folder, "--target", "fake_cuda_driver"],
    ):
        subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)
    return folder / "tests" / "plugins" / "fake_cuda"


def calls(program: Path, driver: Path, runtime: Path | str, log: Path) -> dict[str, int]:
    """Count the calls of each construct, in the order of the program."""
    log.unlink(missing_ok=True)
    own = {
        "LD_LIBRARY_PATH": f"{runtime}:{driver}:{libraries(INSTALLED)}",
        "FAKE_CUDA_ARCH": nvptx.ARCHITECTURE.removeprefix("sm_"),
        "FAKE_CUDA_LOG": str(log),
        "OMPTOOL_PLUGINS": "cuda",
        "OMP_TARGET_OFFLOAD": "MANDATORY",
    }
    subprocess.run([str(program)], check=True, env=os.environ | own, timeout=120)
    counts: dict[str, int] = {}
    name = ""
    for line in log.read_text().splitlines():
        if line.startswith("# "):
            name = line[2:]
        elif name:
            counts[name] = counts.get(name, 0) + 1
    return counts


def main() -> None:
    """Build, run on both, print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--ptxas", type=Path, default=OF_PYPI)
    options = parser.parse_args()
    if not options.ptxas.exists():
        print(f"not counted: {options.ptxas} is not there; nvidia-cuda-nvcc-cu12 of PyPI has it")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = build(folder, options.ptxas)
        driver = build_driver(folder / "driver")
        ours = calls(program, driver, libdir(), folder / "log")
        llvms = calls(program, driver, libraries(INSTALLED), folder / "log")
    rows = [(one, ours[one], count, f"{ours[one] / count:.2f}") for one, count in llvms.items()]
    print(f"calls of the driver; ours at most {MOST} of LLVM 19's\n")
    headers = ("construct", "ours", "LLVM 19's plugin", "ratio")
    print(tabulate(rows, headers, tablefmt="github", disable_numparse=True))


if __name__ == "__main__":
    main()
