# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measure the CPU time of build steps on small files, by omptool and by clang's own tools.

Usage: python bench/build.py [--runs 7] [--llvm 19] [ROW...]

Each row is a pair on the same inputs, in turn. Links have one libomptarget on both sides.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median

from link import SOURCE
from measure import Measured, in_turn
from tabulate import tabulate

COMPILERS = Path(__file__).resolve().parent.parent / "build" / "compilers"
# Releases from 15 to 21 have no wrapper of their own.
WRAPPER = COMPILERS / "22/usr/lib/llvm-22/bin/llvm-offload-wrapper"
TRIPLE = "x86_64-pc-linux-gnu"
OFFLOADING = ("-O1", "-fopenmp", f"-fopenmp-targets={TRIPLE}")
REGION = """void f%d(int *x) {
#pragma omp target map(tofrom : x[0 : 4])
  x[0] += %d;
}
"""
OBJECTS = (20, 60, 180)
FILES = 1000
MIB = 200  # bytes of the large image, in MiB
Pair = tuple[list[str], list[str]]


class Inputs:
    """The input files of all rows, and the tools of one LLVM release."""

    def __init__(self, work: Path, llvm: str) -> None:
        self.work = work
        installed = Path(f"/usr/lib/llvm-{llvm}/bin")
        unpacked = COMPILERS / llvm / "usr/lib" / f"llvm-{llvm}" / "bin"
        self._tools = installed if (installed / "clang").exists() else unpacked
        self._make("saxpy.c", SOURCE)
        self._make("main.c", "int main(void) { return 0; }\n")
        for number in range(max(OBJECTS)):
            self._make(f"f{number}.c", REGION % (number, number))
        sources = [path.name for path in work.glob("*.c")]
        run(work, self.tool("clang"), *OFFLOADING, "-c", *sources)
        run(work, "omptool", "extract", "saxpy.o", "-o", "images")
        (image,) = (work / "images").iterdir()
        shutil.copy(image, work / "image")
        run(work, "ar", "rcs", "all.a", *(f"f{number}.o" for number in range(max(OBJECTS))))
        run(work, self.tool("clang"), *OFFLOADING, "saxpy.o", "-o", "app", *self.library)
        run(work, self.tool("clang"), "-shared", "-fopenmp", "image", "-o", "image.so")
        host = (*OFFLOADING, "--offload-host-only")
        run(work, self.tool("clang"), *host, "-c", "saxpy.c", "-o", "host.o")
        (work / "zeros").write_bytes(bytes(MIB << 20))
        run(work, "objcopy", "--add-section", ".large=zeros", "image.so", "large.so")
        for number in range(FILES):
            (work / f"copy{number}.o").hardlink_to(work / "saxpy.o")

    def _make(self, name: str, text: str) -> None:
        (self.work / name).write_text(text)

    def tool(self, name: str) -> str:
        """Return the path of an LLVM tool."""
        return str(self._tools / name)

    @property
    def library(self) -> tuple[str, str]:
        """Return the linker arguments for omptool's libomptarget."""
        command = ["omptool", "config", "--libdir"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        return f"-L{done.stdout.strip()}", "-lomptarget"

    def link(self, *inputs: str) -> Pair:
        """Return the commands of a link by clang, with `omptool link` and without."""
        words = [self.tool("clang"), *OFFLOADING, *inputs, "-o", "out", *self.library]
        return ["omptool", "link", "--", *words], words


def run(folder: Path, *words: str) -> None:
    """Run one step of building the inputs."""
    subprocess.run(words, cwd=folder, check=True, stdout=subprocess.DEVNULL)


def objects(count: int) -> Callable[[Inputs], Pair]:
    """Return the row of a link of `count` objects."""
    return lambda i: i.link("main.o", *(f"f{number}.o" for number in range(count)))


def archive(inputs: Inputs) -> Pair:
    """Return the row of a link with an archive of many objects, of which two are used."""
    text = "void f0(int *), f1(int *);\nint main(void) { int x[4]; f0(x); f1(x); return 0; }\n"
    (inputs.work / "two.c").write_text(text)
    run(inputs.work, inputs.tool("clang"), *OFFLOADING, "-c", "two.c")
    return inputs.link("two.o", "all.a")


def compile_one(inputs: Inputs) -> Pair:
    """Return the row of compiling a small source to an object."""
    words = [inputs.tool("clang"), "-O1", "-c", "f0.c", "-o", "out.o"]
    return ["omptool", "cc", "--", *words], [inputs.tool("clang"), *OFFLOADING, *words[1:]]


def emit(form: str) -> Callable[[Inputs], Pair]:
    """Return the row of writing a container of one image."""
    image = f"{TRIPLE}=image"
    ours = ["omptool", "emit", "--image", image, "--format", form, "-o", "out"]
    packager = [f"--image=file=image,triple={TRIPLE},kind=openmp", "-o", "out"]
    targets = f"--targets=host-{TRIPLE},openmp-{TRIPLE}"
    bundler = ["--type=o", targets, "--input=/dev/null", "--input=image", "--output=out"]
    if form == "object":
        wrapper = [str(WRAPPER), "--kind=openmp", f"--triple={TRIPLE}", "image.so", "-o", "out"]
        return lambda _: (
            ["omptool", "emit", "--image", f"{TRIPLE}=image.so", "-o", "out"],
            wrapper,
        )
    if form == "offload-binary":
        return lambda i: (ours, [i.tool("clang-offload-packager"), *packager])
    return lambda i: (ours, [i.tool("clang-offload-bundler"), *bundler])


def bundle(inputs: Inputs) -> Pair:
    """Return the row of adding an image to a host's object."""
    ours = ["omptool", "bundle", "host.o", "--image", f"{TRIPLE}=image.so", "-o", "out"]
    targets = f"--targets=host-{TRIPLE},openmp-{TRIPLE}"
    files = ["--input=host.o", "--input=image.so", "--output=out"]
    return ours, [inputs.tool("clang-offload-bundler"), "--type=o", targets, *files]


def large(*words: str) -> Callable[[Inputs], Pair]:
    """Return the row of a command with a large image, compared with a copy of the image."""
    return lambda _: (
        ["omptool", *words, "-o", "out"],
        ["cp", "--reflink=never", "large.so", "copy"],
    )


def edit(_: Inputs) -> Pair:
    """Return the row of replacing an image, compared with objcopy's replacement of a section."""
    ours = ["omptool", "edit", "app", "--replace", "0=image", "--force", "-o", "out"]
    return ours, ["objcopy", "--update-section", ".comment=main.c", "app", "out"]


def many(command: str) -> Callable[[Inputs], Pair]:
    """Return the row of inspecting many objects by one command."""
    names = [f"copy{number}.o" for number in range(FILES)]
    return lambda i: (
        ["omptool", command, *names],
        [i.tool("llvm-objdump"), "--offloading", *names],
    )


ROWS: dict[str, tuple[Callable[[Inputs], Pair], float]] = {
    "link of saxpy": (lambda i: i.link("saxpy.o"), 1.0),
    **{f"link of {count} objects": (objects(count), 1.0) for count in OBJECTS},
    "link of 2 of 180 members": (archive, 1.0),
    "cc -c": (compile_one, 1.15),
    "emit of an OffloadBinary": (emit("offload-binary"), 2.0),
    "emit of a bundle": (emit("offload-bundle"), 2.0),
    "emit of an object": (emit("object"), 2.0),
    "bundle": (bundle, 2.0),
    "extract": (
        lambda i: (
            ["omptool", "extract", "saxpy.o", "-o", "images"],
            [i.tool("llvm-objcopy"), "--dump-section=.llvm.offloading=out", "saxpy.o", "out.o"],
        ),
        2.0,
    ),
    "dump": (
        lambda i: (
            ["omptool", "dump", "saxpy.o"],
            [i.tool("llvm-objdump"), "--offloading", "saxpy.o"],
        ),
        2.0,
    ),
    f"dump of {FILES} objects": (many("dump"), 5.0),
    f"verify of {FILES} objects": (many("verify"), 0.0),
    "edit": (edit, 8.0),
    f"emit of {MIB} MiB": (large("emit", "--image", f"{TRIPLE}=large.so"), 1.5),
    f"bundle of {MIB} MiB": (large("bundle", "host.o", "--image", f"{TRIPLE}=large.so"), 1.5),
    f"edit of {MIB} MiB": (large("edit", "app", "--replace", "0=large.so"), 1.5),
    "run of /bin/true": (lambda _: (["omptool", "run", "/bin/true"], ["/bin/true"]), 0.0),
}


def main() -> None:
    """Build the inputs, measure the rows, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help="rows whose names have these words")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--llvm", default="19")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        inputs = Inputs(Path(folder), options.llvm)
        table = []
        for name, (pair, most) in ROWS.items():
            if options.rows and not any(word in name for word in options.rows):
                continue
            table.append((name, *measured(inputs, pair(inputs), options.runs), most or "-"))
    headers = ("row", "omptool, CPU s", f"LLVM {options.llvm}, CPU s", "ratio", "at most")
    print(tabulate(table, headers=headers, tablefmt="github", disable_numparse=True))


def measured(inputs: Inputs, pair: Pair, runs: int) -> tuple[str, str, str]:
    """Return the median times of both commands, and the median ratio of neighbouring runs."""
    sides = [Measured(words[0], ["env", "-C", str(inputs.work), *words]) for words in pair]
    in_turn(runs - 1, *(side.run for side in sides))
    ours, theirs = ([one.cpu for one in side.runs[1:]] for side in sides)
    ratio = median(one / other for one, other in zip(ours, theirs, strict=True))
    return f"{median(ours):.3f}", f"{median(theirs):.3f}", f"{ratio:.2f}"


if __name__ == "__main__":
    main()
