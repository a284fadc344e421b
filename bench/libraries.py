# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Vendors' large libraries: `omptool dump` and `verify` beside NVIDIA's or LLVM's tool.

Usage: python bench/libraries.py [--runs 5] [--cuobjdump CUOBJDUMP] [--objdump OBJDUMP] [--each]
       [FOLDER]

FOLDER has, anywhere in it, those of the libraries that are to be measured, unpacked from the wheels
nvidia-cublas, nvidia-npp and jax-rocm10-pjrt and Debian's librocrand1 and librocsparse0; cuobjdump
is in the wheel nvidia-cuda-cuobjdump, llvm-objdump is LLVM 22's. What is not there is left out, and
said. llvm-objdump writes the images that it lists beside a link to the library, in a folder of
TMPDIR, which takes some gigabytes.

With --each, FOLDER has libraries with images of CUDA. Those are measured for which cuobjdump takes
more than 0.2 s of a processor, and the last line has the median of their ratios.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

from measure import Measured, costs, figures

UNPACKED = Path(__file__).resolve().parent.parent / "build" / "compilers"
OBJDUMP = UNPACKED / "22" / "usr" / "lib" / "llvm-22" / "bin" / "llvm-objdump"
LISTING = ("-lelf", "-lptx")
SHORTEST = 0.2  # seconds of cuobjdump


class Question(NamedTuple):
    """The commands about a library; the others are compared with the last one."""

    library: str
    asked: str
    ours: tuple[tuple[str, ...], ...]
    theirs: tuple[str, ...] = ()  # options of the peer
    peer: str = "cuobjdump"


IMAGES, VERIFY, KERNELS = ("dump", "--images"), ("verify",), ("dump", "--kernels")
ALL = ("dump", "--json")
QUESTIONS = (
    Question("libcublas.so.13", "1.5 times, a fifth of the memory", (IMAGES, VERIFY), LISTING),
    Question("libcublasLt.so.13", "1.5 times, a fifth of the memory", (IMAGES, VERIFY), LISTING),
    Question("libnppidei.so.13", "3 times", (KERNELS,), ("-res-usage",)),
    Question("libnppif.so.13", "3 times", (KERNELS,), ("-res-usage",)),
    Question("librocrand.so.1.1", "twice", (("dump",), (*KERNELS, "--no-source"), KERNELS, IMAGES)),
    Question(
        "xla_rocm_plugin.so",
        "1.15 times for verify, 500 MB of memory",
        (ALL, IMAGES, VERIFY),
        ("--offloading",),
        "llvm-objdump",
    ),
    Question("librocsparse.so.0.1", "twice", (("dump",), (*KERNELS, "--no-source"), IMAGES)),
)


def main() -> None:
    """Measure the installed libraries, and print a table for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--cuobjdump", default="cuobjdump")
    parser.add_argument("--objdump", default=str(OBJDUMP))
    parser.add_argument("folder", nargs="?", type=Path, default=Path())
    parser.add_argument("--each", action="store_true")
    options = parser.parse_args()
    peers = {
        "cuobjdump": shutil.which(options.cuobjdump),
        "llvm-objdump": shutil.which(options.objdump),
    }
    if options.each:
        if not peers["cuobjdump"]:
            sys.exit("cuobjdump is not there")
        each(options.folder, peers["cuobjdump"], options.runs)
        return
    for question in QUESTIONS:
        found = next(options.folder.rglob(question.library), None)
        peer = peers[question.peer]
        if found is None or (question.theirs and peer is None):
            why = f"no {question.peer}" if found else "not there"
            print(f"{question.library}: not measured, {why}\n")
            continue
        size = found.stat().st_size / 1e6
        print(f"{question.library}, {size:.0f} MB. Asked for: at most {question.asked}.\n")
        commands = [Measured(" ".join(one), ["omptool", *one, str(found)]) for one in question.ours]
        with TemporaryDirectory() as folder:
            linked = Path(folder) / found.name
            linked.symlink_to(found.resolve())
            if question.theirs and peer:
                name = " ".join((question.peer, *question.theirs))
                commands.append(Measured(name, [peer, *question.theirs, str(linked)]))
            print(costs(commands, options.runs), flush=True)
        print()


def each(folder: Path, peer: str, runs: int) -> None:
    """Measure `dump --images` and `verify` on every library on which cuobjdump is slow."""
    ratios: list[float] = []
    for path in sorted(folder.rglob("*.so*")):
        theirs = Measured("cuobjdump", [peer, *LISTING, str(path)])
        try:
            if figures(theirs.command).cpu <= SHORTEST:
                continue
        except SystemExit:  # no device code, or old images that cuobjdump rejects
            print(f"{path.name}: not measured, cuobjdump cannot read it\n", flush=True)
            continue
        ours = [Measured(" ".join(one), ["omptool", *one, str(path)]) for one in (IMAGES, VERIFY)]
        print(f"{path.name}, {path.stat().st_size / 1e6:.0f} MB.\n")
        print(costs([*ours, theirs], runs), flush=True)
        print()
        pairs = zip(ours[-1].runs, theirs.runs, strict=True)
        ratios.append(median(one.cpu / other.cpu for one, other in pairs))
    if ratios:
        of_all = f"{median(ratios):.2f} in the median of {len(ratios)}"
        print(f"verify: {of_all}, {max(ratios):.2f} at most")


if __name__ == "__main__":
    main()
