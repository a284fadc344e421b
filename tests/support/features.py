# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Make docs/features.md: each row of omptool is proved by a run on a file of the real tools.

Usage: python tests/support/features.py [--write]   (prints the page, or writes it)

The other columns come from trying the peers by hand: clang's offload bundler, packager and linker
wrapper, llvm-objdump and llvm-readobj, CUDA's cuobjdump, ROCm's roc-obj-*, and libomptarget's own
environment variables, of LLVM 14 to 22.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, NamedTuple

import gccs
from clangs import NEWEST, compiled_by, tool
from documents import document
from fixture_programs import call
from places import DATA, ROOT
from sarif_schema import run_of
from tabulate import tabulate
from toolchain import (
    HOST,
    MAIN,
    OPENMP,
    REGION,
    X86_64,
    bundled,
    clang_offload,
    compile_c,
    device_image,
    omptool,
    run,
)

PAGE = ROOT / "docs" / "features.md"
PEERS = (
    "bundler",
    "packager",
    "linker wrapper",
    "objdump",
    "readobj",
    "cuobjdump",
    "roc-obj",
    "libomptarget",
)
AMD = """
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @first(ptr addrspace(1) %p) { ret void }
"""


class Bench:
    """The files that the rows look at, each made once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.source = folder / "source.c"
        self.source.write_text(OPENMP)
        self.program = clang_offload(OPENMP, folder / "program")
        self.object = clang_offload(OPENMP, folder / "object.o", "-c")

    def old(self) -> Path:
        """Build a program of clang 14."""
        return compiled_by("14", self.source, self.folder)

    def new(self) -> Path:
        """Build a program of the newest clang."""
        folder = self.folder / "new"
        folder.mkdir(exist_ok=True)
        return compiled_by(NEWEST, self.source, folder)

    def headerless(self, program: Path) -> Path:
        """Copy the program without its section headers."""
        out = program.with_name(f"{program.name}.headerless")
        run("llvm-strip-19", "--strip-sections", program, "-o", out)
        return out

    def archive(self) -> Path:
        """Put the object into an archive."""
        path = self.folder / "library.a"
        run("ar", "rcs", path, self.object)
        return path

    def old_object(self) -> Path:
        """Make an object in clang 14's form: an extra section for the device."""
        out = self.folder / "fat.o"
        host = compile_c("int x;", self.folder / "host.o", "-c")
        targets = f"-targets=host-x86_64-unknown-linux-gnu,openmp-{X86_64}"
        inputs = (f"-input={host}", f"-input={self.object}")
        run("clang-offload-bundler-19", "-type=o", targets, *inputs, f"-output={out}")
        return out

    def hip(self, *options: str) -> Path:
        """Make a bundle for two AMD processors."""
        (self.folder / "k.ll").write_text(AMD)
        inputs = ["-input=/dev/null"]
        for arch in ("gfx90a", "gfx906"):
            out = self.folder / f"{arch}.o"
            run("llc-19", f"-mcpu={arch}", "-filetype=obj", self.folder / "k.ll", "-o", out)
            inputs.append(f"-input={out}")
        ids = ",".join(f"hipv4-amdgcn-amd-amdhsa--{arch}" for arch in ("gfx90a", "gfx906"))
        targets = f"-targets=host-x86_64-unknown-linux--,{ids}"
        out = self.folder / f"bundle{''.join(options)}"
        run("clang-offload-bundler-19", "-type=bc", targets, *options, *inputs, f"-output={out}")
        return out

    def gcc(self) -> Path:
        """Build a program with gcc."""
        kinds = (gccs.NVPTX, gccs.GCN)
        return gccs.compiled(self.source.read_text(), self.folder / "gcc", targets=kinds)

    def bundle(self, device: str = HOST, target: str = X86_64) -> Path:
        """Bundle a host and its image into one object."""
        host = compile_c(HOST + MAIN, self.folder / "b.o", "-c", "-fPIC")
        image = device_image(device, self.folder / "b.so")
        return bundled(host, self.folder / "bundled.o", {target: image})


def dumped(path: Path, *options: str) -> dict[str, Any]:
    """Return the first file of `dump --json`."""
    result = omptool("dump", "--json", *options, path)
    assert result.exit_code == 0, result.output
    return dict(document("dump", result.stdout)["files"][0])


def images(path: Path, count: int = 1) -> bool:
    """Return whether dump shows that many images."""
    return len(dumped(path)["images"]) >= count


def finds(code: str, path: Path) -> bool:
    """Return whether verify finds a code."""
    return code in omptool("verify", path).stdout


def swapped(text: str) -> str:
    return (
        text.replace("KERNEL(first)", "KERNEL(x)")
        .replace("KERNEL(second)", "KERNEL(first)")
        .replace("KERNEL(x)", "KERNEL(second)")
    )


def mixed(bench: Bench) -> Path:
    """Link an object of clang 22 with one of clang 19, by clang 19."""
    (bench.folder / "new.c").write_text(REGION)
    flags = ("-fopenmp", f"-fopenmp-targets={X86_64}")
    run(*tool("22"), *flags, "-c", bench.folder / "new.c", "-o", bench.folder / "new.o")
    run("clang-19", *flags, bench.object, bench.folder / "new.o", "-o", bench.folder / "mixed")
    return bench.folder / "mixed"


def extracts(bench: Bench, *options: str) -> bool:
    """Return whether the images that come out of the program are those in it."""
    out = bench.folder / f"out{''.join(options)}"
    result = omptool("extract", bench.program, "-o", out, *options)
    (image,) = dumped(bench.program)["images"]
    whole = bench.program.read_bytes()[image["offset"] : image["offset"] + image["size"]]
    return result.exit_code == 0 and [path.read_bytes() for path in out.iterdir()] == [whole]


def survives(bench: Bench) -> bool:
    """Return whether damaged files are one line each and exit code 2 or none."""
    data = bench.program.read_bytes()
    path = bench.folder / "damaged"
    for at in range(0, 4096, 97):
        path.write_bytes(data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :])
        result = omptool("dump", path)
        if result.exit_code not in (0, 2) or "Traceback" in result.output:
            return False
    return True


def duplicated(bench: Bench) -> Path:
    """Make an object with one name twice in its table of entries."""
    twice = HOST + 'OMPTARGET_ENTRY("first", second, 0)\n;'
    return compile_c(twice, bench.folder / "twice.o", "-c")


def objects(bench: Bench) -> bool:
    return images(bench.object) and images(bench.archive())


def programs(bench: Bench) -> bool:
    return images(bench.program) and images(bench.new())


def headerless(bench: Bench) -> bool:
    return all(images(bench.headerless(path)) for path in (bench.program, bench.old()))


def hip(bench: Bench) -> bool:
    return images(bench.hip(), 2) and images(bench.hip("-compress"), 2)


def cuda(_: Bench) -> bool:
    return images(DATA / "none.fatbin", 3) and images(DATA / "zstd.fatbin", 2)


def nested(bench: Bench) -> bool:
    inner = bench.archive()
    outer = bench.folder / "outer.a"
    run("ar", "rcs", outer, inner)
    packed = bench.folder / "outer.bundle"
    part = f"--image=file={bench.hip('-compress')},triple=amdgcn-amd-amdhsa,arch=gfx90a"
    run("clang-offload-packager-19", "-o", packed, part)
    return images(outer) and images(packed, 2)


def bitcode(bench: Bench) -> bool:
    out = clang_offload(OPENMP, bench.folder / "lto.o", "-c", "-foffload-lto")
    (image,) = dumped(out)["images"]
    return image["kind"] == "bitcode" and len(image["kernels"]) == 2


def sources(bench: Bench) -> bool:
    program = clang_offload(OPENMP, bench.folder / "debugged", "-g")
    kernels = [entry for entry in dumped(program)["entries"] if entry["kind"] == "kernel"]
    return {entry["file"] for entry in kernels} == {f"{program}.c"}


def beside(bench: Bench) -> bool:
    damaged = bytearray(bench.hip().read_bytes())
    damaged[24:26] = b"\xff\xff"  # how many targets it has
    path = bench.folder / "beside"
    path.write_bytes(bench.hip().read_bytes() + damaged)
    left = document("dump", omptool("dump", "--json", path).stdout)["files"][0]["images"]
    return finds("OMP111", path) and len(left) == 2


def where(bench: Bench) -> bool:
    (image,) = dumped(bench.program, "--hash")["images"]
    return None not in [image[key] for key in ("size", "offset", "address", "sha256")]


def entries(bench: Bench) -> bool:
    return [entry["size"] for entry in dumped(bench.program)["entries"]] == [32, 0, 0]


def symbols(bench: Bench) -> bool:
    return len(dumped(bench.program)["images"][0]["kernels"]) == 2


def matched(bench: Bench) -> bool:
    return [e["images"] for e in dumped(bench.program)["entries"]] == [["present"]] * 3


def mislabelled(bench: Bench) -> bool:
    return finds("OMP110", bench.bundle(target="aarch64-unknown-linux-gnu"))


def predicts(bench: Bench) -> bool:
    said = document("doctor", omptool("doctor", "--json", bench.program).stdout)
    return {entry["runs_on"] for entry in said["entries"]} == {"device 0 (host)"}


def sarif(bench: Bench) -> bool:
    return "results" in run_of(omptool("verify", "--sarif", bench.program).stdout)


def wanting(bench: Bench) -> bool:
    lacking = HOST.replace("OMPTARGET_KERNEL(first);", "")
    return omptool("verify", bench.bundle(lacking)).exit_code == 1


class Feature(NamedTuple):
    """A row: what omptool's run shows, and a letter for each of PEERS (y yes, p partly, n no)."""

    name: str
    peers: str
    shows: Callable[[Bench], bool]


FEATURES = (
    Feature("images of objects and archives, clang 15 on", "npnyppnn", objects),
    Feature("images of objects, clang 14", "ynnnpnnn", lambda b: images(b.old_object())),
    Feature("images of programs, clang 15 on", "npnypnnn", programs),
    Feature("images of programs, clang 14", "nnnnpnnn", lambda b: images(b.old())),
    Feature("images without section headers", "nnnnnnnn", headerless),
    Feature("HIP's bundles, compressed too", "pnnppnpn", hip),
    Feature("CUDA's fat binaries, compressed too", "nnnnnynn", cuda),
    Feature("images of gcc's programs", "nnnnpnnn", lambda b: images(b.gcc())),
    Feature("containers in containers, archives in archives", "nnnnnnnn", nested),
    Feature("an image's size, offset, address, hash", "nnnnpppn", where),
    Feature("one image written to a file", "nynpnnpn", lambda b: extracts(b, "--image", "0")),
    Feature("all images written to files", "nnnpnyyn", lambda b: extracts(b, "--all")),
    Feature("the host's table of entries", "nnnnpnnn", entries),
    Feature("an image's kernels and variables", "nnnnppnn", symbols),
    Feature("kernels of bitcode before its link", "nnnnnnnn", bitcode),
    Feature("the source files of kernels", "nnnnnnnp", sources),
    Feature("each entry against each image", "nnnnnnnp", matched),
    Feature(
        "order and number of entries",
        "nnnnnnnp",
        lambda b: finds("OMP106", b.bundle(swapped(HOST))),
    ),
    Feature(
        "entries that nothing registers", "nnnnnnnn", lambda b: finds("OMP101", unregistered(b))
    ),
    Feature("entries of two generations", "nnnnnnnn", lambda b: finds("OMP104", mixed(b))),
    Feature("entries of one name", "nnpnnnnn", lambda b: finds("OMP108", duplicated(b))),
    Feature("an image's arch and kind against its bytes", "nnpnnynp", mislabelled),
    Feature("the machine's devices", "nnnnnnnp", lambda b: omptool("devices").exit_code == 0),
    Feature("the image for a device, and why a region stays on the host", "nnnnnnnn", predicts),
    Feature("JSON", "nnnnpnnp", lambda b: bool(dumped(b.program))),
    Feature("findings for other tools (SARIF)", "nnnnnnnn", sarif),
    Feature("an exit code that reports a fault", "nnnnnyyp", wanting),
    Feature("damaged files, without a crash", "nppnn-pn", survives),
    Feature("sound parts beside a damaged one", "nnnnnnnn", beside),
)


def unregistered(bench: Bench) -> Path:
    """Link an object of clang's with gcc."""
    out = bench.folder / "unregistered"
    libraries = ("-L/usr/lib/llvm-19/lib", "-lomptarget", "-lomp")
    call("gcc", bench.object, *libraries, "-o", out)
    return out


def table(shown: Collection[str]) -> str:
    """Return the table in Markdown; `shown` names the features that omptool has."""
    words = {"y": "yes", "p": "partly", "n": "no", "-": "-"}
    rows = [
        (feature.name, "yes" if feature.name in shown else "no", *map(words.get, feature.peers))
        for feature in FEATURES
    ]
    headers = ("shows or finds", "omptool", *PEERS)
    return tabulate(rows, headers=headers, tablefmt="github", disable_numparse=True)


INTRODUCTION = """# What omptool shows of offload files

`python tests/support/features.py --write` makes omptool's column. It runs omptool on files of clang
14, 19, 22 and 23, gcc 12, nvcc 13 and clang-offload-bundler, and a test compares the column. The
other columns come from trials by hand, with the tools of LLVM 14 to 22, CUDA 13 and ROCm 5.2.

"""
NOT_DONE = """
## What omptool does not do

- Regions run on AMD's GPUs through LLVM's liboffload 22, 23 or 24. Tests run programs through a
  fake of the library, which calls the kernels' code on the CPU. They open the real library on
  machines without a GPU. Nobody has run it on AMD's GPUs.
- `link` joins bitcode for a device to one module. It has no ThinLTO, and sees no entries in objects
  of `clang -flto` before the host's link.
- omptool reads the device images in Windows' files. It writes no such file, and its runtime is for
  Linux.
- omptool writes hosts for x86-64 and AArch64 alone, and its runtime is for these. On AArch64 both
  were run by qemu, not on a machine, and `run --check=full` does not look at what kernels do.
- `doctor` does not look for libraries that LLVM's runtime opens itself. Intel's build opens
  `libffi.so`; without it, programs of clang 14 end at their first region.
- Programs of Fortran are tested with flang 22 on the CPU device. Those for NVIDIA's GPUs were
  linked, and not run. gfortran's are untested.
"""


def page(shown: Collection[str]) -> str:
    """Return the whole page."""
    return f"{INTRODUCTION}{table(shown)}\n{NOT_DONE}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--write", action="store_true", help="write docs/features.md")
    write = parser.parse_args().write
    os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        text = page([feature.name for feature in FEATURES if feature.shows(bench)])
    if write:
        PAGE.write_text(text)
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
