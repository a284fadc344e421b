# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool slim` of large libraries that shipped, beside `cp` of the same file.

The libraries are those of a wheel that pip fetches, cuBLAS by default, or the FILEs.

Usage: python bench/slim.py [--keep sm_90] [--runs 7] [--package P==V] [FILE...]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from zipfile import ZipFile

from bundle import fresh
from measure import Measured, compare

PACKAGE = "nvidia-cublas==13.10.0.20"
LARGE = 1 << 23  # bytes


def main() -> None:
    """Fetch the libraries, measure, print a table for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--keep", default="sm_90")
    parser.add_argument("--package", default=PACKAGE)
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for path in options.files or fetched(options.package, work):
            out, copy = work / "out", work / "copy"
            words = ["omptool", "slim", str(path), "--keep", options.keep, "-o", str(out)]
            command = ["cp", "--reflink=never", str(path), str(copy)]
            commands = [
                Measured("omptool slim", words, partial(fresh, out)),
                Measured("cp", command, partial(fresh, copy)),
            ]
            table = compare(commands, options.runs)
            before, after = path.stat().st_size, out.stat().st_size
            print(f"\n{path.name}: {before:,} to {after:,} bytes\n\n{table}")


def fetched(package: str, folder: Path) -> list[Path]:
    """Return the large libraries of a wheel."""
    pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder), package]
    subprocess.run(pip, check=True)
    (wheel,) = folder.glob("*.whl")
    with ZipFile(wheel) as members:
        names = [one.filename for one in members.infolist() if one.file_size >= LARGE]
        return [Path(members.extract(name, folder)) for name in names if ".so" in name]


if __name__ == "__main__":
    main()
