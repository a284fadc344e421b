"""`omptool link` beside clang-linker-wrapper 19: saxpy, and a device image of many MiB.

Usage: python bench/link.py [--mib 200] [--runs 7]   (needs about 8 times that on disk, $TMPDIR)

Both stand in the same place: clang's driver calls them with the same arguments, and they call the
same linker. Their time is that of all that they start.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from measure import Measured, compare

CLANG = "/usr/lib/llvm-19/bin/clang"
FLAGS = ("-O2", "-fopenmp", "-fopenmp-targets=x86_64-pc-linux-gnu")
SOURCE = """
#ifdef IMAGE
__asm__(".section .rodata\\n.globl payload\\npayload: .incbin \\"" IMAGE "\\"\\n.text\\n");
#endif
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
        (work / "saxpy.c").write_text(SOURCE)
        image = work / "payload"
        with image.open("wb") as file:
            for _ in range(options.mib):
                file.write(os.urandom(1 << 20))
        large = ("-Xarch_device", f'-DIMAGE="{image}"')
        for title, flags in (("saxpy", ()), (f"with {options.mib} MiB", large)):
            words = wrapper_words(work, flags)
            print(f"\n{title}")
            print(compare(commands(words), options.runs))
            print(f"omptool's own process: {own_memory(words)} MiB")


def wrapper_words(work: Path, flags: tuple[str, ...]) -> list[str]:
    """The arguments with which clang's driver calls its linker wrapper for an object."""
    built = work / "saxpy.o"
    subprocess.run([CLANG, *FLAGS, *flags, "-c", work / "saxpy.c", "-o", built], check=True)
    link = [CLANG, *FLAGS, str(built), "-o", str(work / "app"), "-###"]
    shown = subprocess.run(link, stderr=subprocess.PIPE, text=True, check=True).stderr
    return shlex.split(shown.splitlines()[-1])[1:]


def commands(words: list[str]) -> list[Measured]:
    """Both, the peer last."""
    theirs = ["/usr/lib/llvm-19/bin/clang-linker-wrapper", *words]
    return [
        Measured("omptool link", ["omptool", "link", *words], os.sync),
        Measured("clang-linker-wrapper", theirs, os.sync),
    ]


def own_memory(words: list[str]) -> int:
    """Peak memory of omptool's own process, in MiB."""
    command = [sys.executable, "-c", OWN, "link", *words]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return int(done.stdout)


if __name__ == "__main__":
    main()
