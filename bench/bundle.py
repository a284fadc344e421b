# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool bundle` and `emit` of a 1 GiB image, beside `cp --reflink=never` of the same file.

Usage: python bench/bundle.py [--mib 1024] [--runs 5] [--peers]

It needs about 4 times the image on disk, in $TMPDIR. With --peers LLVM's own wrappers take part,
with llc behind them: those need some 11 times the image in memory.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from measure import Measured, compare

COMPILERS = Path(__file__).resolve().parent.parent / "build" / "compilers"
KERNEL = "define void @k(ptr %p) {\n  store i32 1, ptr %p\n  ret void\n}\n"
HOST = "void k(int *p) { *p = 1; }\nint main(void) { return 0; }\n"


def main() -> None:
    """Build the inputs, measure, print one table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--peers", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        image = make_image(work, options.mib)
        host, out, copy = work / "host.o", work / "out.o", work / "copy"
        (work / "host.c").write_text(HOST)
        subprocess.run(["cc", "-c", work / "host.c", "-o", host], check=True)
        bundle = ["omptool", "bundle", str(host), "--entries", "auto", "-o", str(out)]
        bundle += ["--image", f"x86_64-pc-linux-gnu={image}"]
        emit = ["omptool", "emit", "--abi", "llvm-22", "-o", str(out)]
        emit += ["--image", f"x86_64-pc-linux-gnu={image}"]
        commands = [
            Measured("omptool bundle", bundle, lambda: fresh(out)),
            Measured("omptool emit", emit, lambda: fresh(out)),
            *(peers(image, out) if options.peers else ()),
            Measured("cp", ["cp", "--reflink=never", str(image), str(copy)], lambda: fresh(copy)),
        ]
        print(compare(commands, options.runs))


def peers(image: Path, out: Path) -> Iterator[Measured]:
    """Yield LLVM's wrappers, which write a module, each with the command that compiles it."""
    module = out.with_suffix(".bc")
    for version, wrapper, options in (
        ("14", "clang-offload-wrapper", "-target"),
        ("22", "llvm-offload-wrapper", "--kind=openmp --triple"),
    ):
        root = COMPILERS / version / "usr"
        tools = root / "lib" / f"llvm-{version}" / "bin"
        if not (tools / wrapper).exists():
            sys.exit(f"{wrapper} is not here: scripts/compilers.sh unpacks it")
        libraries = f"{root}/lib/x86_64-linux-gnu:{root}/lib/llvm-{version}/lib"
        steps = (
            f"{tools}/{wrapper} {options}=x86_64-pc-linux-gnu -o {module} {image}",
            f"{tools}/llc -filetype=obj -relocation-model=pic {module} -o {out}",
        )
        command = ["env", f"LD_LIBRARY_PATH={libraries}", "sh", "-ec", "\n".join(steps)]
        yield Measured(f"{wrapper}-{version} + llc", command, lambda: fresh(out))


def fresh(path: Path) -> None:
    """Remove the output and flush pending writes, so that each command starts alike."""
    path.unlink(missing_ok=True)
    os.sync()


def make_image(work: Path, mib: int) -> Path:
    """Write a real device image: a lowered kernel, followed by `mib` MiB of random bytes."""
    image = work / "kernel.so"
    (work / "kernel.ll").write_text(KERNEL)
    lower = ["omptool", "lower", str(work / "kernel.ll"), "--triple", "x86_64-pc-linux-gnu"]
    subprocess.run([*lower, "-o", str(image)], check=True)
    with image.open("ab") as file:
        for _ in range(mib):
            file.write(os.urandom(1 << 20))
    return image


if __name__ == "__main__":
    main()
