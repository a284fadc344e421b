# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool link` beside clang-linker-wrapper 19: saxpy, and a device image of many MiB.

Usage: python bench/link.py [--mib 200] [--runs 7]   (needs about 8 times that on disk, $TMPDIR)

Each pair links with one libomptarget: LLVM's needs libLLVM, which takes ld a third of the time to
read. Both commands of a pair stand in the same place: clang's driver calls them with the same
arguments, and they call the same linker. Their time is that of all that they start.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from measure import Measured, compare

CLANG = "/usr/lib/llvm-19/bin/clang"
LLVMS = ("-L/usr/lib/llvm-19/lib", "-lomptarget")  # the runtime that clang links with
FLAGS = ("-O2", "-fopenmp", "-fopenmp-targets=x86_64-pc-linux-gnu")
SOURCE = """
void saxpy(int n, float a, float *x, float *y) {
#pragma omp target teams distribute parallel for map(to : x[0 : n]) map(tofrom : y[0 : n])
  for (int i = 0; i < n; i++)
    y[i] += a * x[i];
}
int main(void) {
  float x[4] = {1, 2, 3, 4}, y[4] = {0};
  saxpy(4, 2, x, y);
  return y[3] != 8;
}
"""
# The most memory that the process itself has had, without those that it started.
OWN = """
import sys
from omptool.cli import main
try:
    main()
finally:
    status = open("/proc/self/status").read()
    print(int(status.split("VmHWM:")[1].split()[0]) // 1024)
"""


def main() -> None:
    """Build the objects, measure, print a table for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=200)
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        small = compiled(work)
        for title, built in (("saxpy", small), (f"{options.mib} MiB", filled(small, options.mib))):
            words = wrapper_words(built)
            for what, pair in pairs(words, built):
                print(f"\n{title}, {what}")
                print(compare(pair, options.runs))
            print(f"omptool's own process: {own_memory(words)} MiB")


def compiled(work: Path) -> Path:
    """Compile the object of saxpy."""
    source, built = work / "saxpy.c", work / "saxpy.o"
    source.write_text(SOURCE)
    subprocess.run([CLANG, *FLAGS, "-c", source, "-o", built], check=True)
    return built


def filled(small: Path, mib: int) -> Path:
    """Copy an object with `mib` MiB of random bytes added to its device code."""
    work, built = small.parent, small.with_name("filled.o")
    payload, device, packed = work / "payload", work / "device.o", work / "packed"
    with payload.open("wb") as file:
        for _ in range(mib):
            file.write(os.urandom(1 << 20))
    run("ld", "-r", "-b", "binary", payload, "-o", work / "payload.o")
    payload.unlink()
    run("omptool", "extract", small, "-o", work / "images")
    (image,) = (work / "images").iterdir()
    run("ld", "-r", "-z", "noexecstack", image, work / "payload.o", "-o", device)
    (work / "payload.o").unlink()
    what = f"--image=file={device},triple=x86_64-pc-linux-gnu,kind=openmp"
    run("/usr/lib/llvm-19/bin/clang-offload-packager", what, "-o", packed)
    device.unlink()
    run("objcopy", "--update-section", f".llvm.offloading={packed}", small, built)
    packed.unlink()
    return built


def run(*command: str | Path) -> None:
    """One step of building the inputs."""
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def wrapper_words(built: Path) -> list[str]:
    """Return the arguments with which clang's driver calls its linker wrapper."""
    link = [*clang_link(built), "-###"]
    shown = subprocess.run(link, stderr=subprocess.PIPE, text=True, check=True).stderr
    return shlex.split(shown.splitlines()[-1])[1:]


def clang_link(built: Path) -> list[str]:
    return [CLANG, *FLAGS, str(built), "-o", str(built.with_name("app"))]


def pairs(words: list[str], built: Path) -> Iterator[tuple[str, list[Measured]]]:
    """Yield pairs of commands, clang's last: as users call them, then in place of each other."""
    found = subprocess.run(["omptool", "config", "--libdir"], stdout=subprocess.PIPE, check=True)
    ours = f"-L{found.stdout.decode().strip()}"
    for library, options in (("omptool's libomptarget", (ours, LLVMS[-1])), ("LLVM's", LLVMS)):
        clang = [*clang_link(built), *options]
        mine = Measured("omptool link -- clang", ["omptool", "link", "--", *clang], os.sync)
        yield f"with {library}", [mine, Measured("clang", clang, os.sync)]
    theirs = ["/usr/lib/llvm-19/bin/clang-linker-wrapper", ours, *words]
    yield (
        "with omptool's libomptarget, as clang's driver calls its linker wrapper",
        [
            Measured("omptool link", ["omptool", "link", ours, *words], os.sync),
            Measured("clang-linker-wrapper", theirs, os.sync),
        ],
    )


def own_memory(words: list[str]) -> int:
    """Return the peak memory of omptool's own process, in MiB."""
    command = [sys.executable, "-c", OWN, "link", *words]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return int(done.stdout)


if __name__ == "__main__":
    main()
