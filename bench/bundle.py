"""`omptool bundle` of a 1 GiB image, beside `cp --reflink=never` of the same file.

Usage: python bench/bundle.py [--mib 1024] [--runs 5]   (needs about 3 times that on disk, $TMPDIR)
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
from pathlib import Path

from measure import Measured, compare

KERNEL = "define void @k(ptr %p) {\n  store i32 1, ptr %p\n  ret void\n}\n"
HOST = "void k(int *p) { *p = 1; }\nint main(void) { return 0; }\n"


def main() -> None:
    """Build the inputs, measure, print one table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        image = make_image(work, options.mib)
        host, out, copy = work / "host.o", work / "out.o", work / "copy"
        (work / "host.c").write_text(HOST)
        subprocess.run(["cc", "-c", work / "host.c", "-o", host], check=True)
        bundle = ["omptool", "bundle", str(host), "--entries", "auto", "-o", str(out)]
        bundle += ["--image", f"x86_64-pc-linux-gnu={image}"]
        commands = [
            Measured("omptool bundle", bundle, lambda: fresh(out)),
            Measured("cp", ["cp", "--reflink=never", str(image), str(copy)], lambda: fresh(copy)),
        ]
        print(compare(commands, options.runs))


def fresh(path: Path) -> None:
    """Both start without their output, and with no earlier output still to be written back."""
    path.unlink(missing_ok=True)
    os.sync()


def make_image(work: Path, mib: int) -> Path:
    """A real device image: a lowered kernel and, after it, `mib` MiB that don't compress."""
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
