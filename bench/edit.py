# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool edit --replace` of a large image in a finished program, beside a copy of the program.

Usage: python bench/edit.py [--mib 200] [--runs 5]   (needs about 4 times that on disk, $TMPDIR)
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path

from bundle import fresh, make_image
from measure import Measured, compare

HOST = """int main(void) {
  int x = 0;
#pragma omp target map(tofrom : x)
  x = 1;
  return x != 1;
}
"""
CLANG = ("clang-19", "-fopenmp", "-fopenmp-targets=x86_64-pc-linux-gnu")


def main() -> None:
    """Build the inputs, measure, print one table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=200)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        image = make_image(work, options.mib)
        app, out, copy = work / "app", work / "out", work / "copy"
        (work / "host.c").write_text(HOST)
        subprocess.run([*CLANG, work / "host.c", "-o", work / "small"], check=True)
        replace = ["omptool", "edit", "--replace", f"0={image}", "--force"]
        subprocess.run([*replace, work / "small", "-o", app], check=True)
        commands = [
            Measured("omptool edit", [*replace, str(app), "-o", str(out)], lambda: fresh(out)),
            Measured("cp", ["cp", "--reflink=never", str(app), str(copy)], lambda: fresh(copy)),
        ]
        print(compare(commands, options.runs))


if __name__ == "__main__":
    main()
