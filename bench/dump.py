"""`omptool dump` of a 2 GB executable beside `llvm-objdump --offloading`, and how fast it starts.

Usage: python bench/dump.py [--mib 2048] [--runs 7]   (needs about 3 times that on disk, $TMPDIR)

The second table measures starting: `omptool --version` and `omptool dump` of a small executable,
beside an interpreter that imports what they import. Byte-compiled modules must be there already, as
after an installation: the warm-up run sees to it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from measure import Measured, compare

TRIPLE = "x86_64-pc-linux-gnu"
KERNEL = "define void @k(ptr %p) {\n  store i32 1, ptr %p\n  ret void\n}\n"
HOST = "void k(int *p) { *p = 1; }\nint main(void) { return 0; }\n"
OBJDUMP = "llvm-objdump-19"
IMPORTS = "import click, elftools.elf.elffile"


def main() -> None:
    """Build the inputs, measure, print two tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--mib", type=int, default=2048)
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        small, large = executable(work, 0), executable(work, options.mib)
        print(f"an executable of {large.stat().st_size / 1e9:.2f} GB:")
        commands = [
            Measured("omptool dump", ["omptool", "dump", str(large)]),
            Measured("omptool verify", ["omptool", "verify", str(large)]),
            Measured(OBJDUMP, [OBJDUMP, "--offloading", str(large)]),
        ]
        print(compare(commands, options.runs))
        print("\nstarting:")
        commands = [
            Measured("omptool --version", ["omptool", "--version"]),
            Measured("omptool dump SMALL", ["omptool", "dump", str(small)]),
            Measured("omptool verify SMALL", ["omptool", "verify", str(small)]),
            Measured("bare imports", [sys.executable, "-c", IMPORTS]),
        ]
        print(compare(commands, 3 * options.runs))


def executable(work: Path, mib: int) -> Path:
    """A linked program with a real device image, `mib` MiB of bytes after its last section."""
    folder = work / str(mib)
    folder.mkdir()
    (folder / "kernel.ll").write_text(KERNEL)
    (folder / "host.c").write_text(HOST)
    image, host, bundled = folder / "kernel.so", folder / "host.o", folder / "bundled.o"
    call("omptool", "lower", folder / "kernel.ll", "--triple", TRIPLE, "-o", image)
    with image.open("ab") as file:
        for _ in range(mib):
            file.write(os.urandom(1 << 20))
    call("cc", "-c", folder / "host.c", "-o", host)
    call("omptool", "bundle", host, "--entries", "auto", "--image", f"{TRIPLE}={image}",
         "-o", bundled)  # fmt: skip
    image.unlink()
    libdir = call("omptool", "config", "--libdir").strip()
    program = folder / "program"
    # Of the linkers lld alone keeps code and data together around 2 GB of read-only sections.
    call("clang-19", "-fuse-ld=lld", bundled, f"-L{libdir}", "-lomptarget", "-o", program)
    bundled.unlink()
    return program


def call(*command: object) -> str:
    """Run a step of the preparation."""
    words = [str(word) for word in command]
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
