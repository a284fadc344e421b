# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool dump` and `verify` of large files beside `llvm-objdump --offloading`, and starting them.

Usage: python bench/dump.py [--mib 2048] [--runs 7]   (needs about 3 times that on disk, $TMPDIR)

The tables: an executable of that size; one of 4 GB, nearly all a hole; an object of 200 MB whose
section llvm-objdump knows; 100,000 entries with two images; and starting, beside an interpreter
that imports what omptool imports. Byte-compiled modules must be there already, as after an
installation: the warm-up run sees to it.
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
GB = 1_000_000_000
MANY = 100_000


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
            Measured("omptool doctor", ["omptool", "doctor", str(large)]),
            Measured(OBJDUMP, [OBJDUMP, "--offloading", str(large)]),
        ]
        print(compare(commands, options.runs))
        large.unlink()
        print("\nan executable of 4 GB, nearly all a hole:")
        print(compare([*reading(sparse(work, small)), python("pass")], options.runs))
        known = packed_object(work, GB // 5)
        print(f"\nan object of {known.stat().st_size / 1e6:.0f} MB:")
        objdump = Measured(OBJDUMP, [OBJDUMP, "--offloading", str(known)])
        print(compare([*reading(known), objdump], options.runs))
        print(f"\n{MANY} entries and two images:")
        many = many_entries(work)
        documents = [
            Measured(f"{verb} --json", ["omptool", verb, "--json", str(many)])
            for verb in ("dump", "verify")
        ]
        print(compare([*reading(many), *documents, python("pass")], options.runs))
        print("\nstarting:")
        commands = [
            Measured("omptool --version", ["omptool", "--version"]),
            Measured("omptool dump SMALL", ["omptool", "dump", str(small)]),
            Measured("omptool verify SMALL", ["omptool", "verify", str(small)]),
            Measured("bare imports", [sys.executable, "-c", IMPORTS]),
            python("import click"),
        ]
        print(compare(commands, 3 * options.runs))


def reading(path: Path) -> list[Measured]:
    """Return both commands on a file."""
    return [
        Measured(f"omptool {verb}", ["omptool", verb, str(path)]) for verb in ("dump", "verify")
    ]


def python(statement: str) -> Measured:
    """Return a command that starts an interpreter and runs little."""
    return Measured(f"python -c '{statement}'", [sys.executable, "-c", statement])


def sparse(work: Path, program: Path) -> Path:
    """Write a program followed by a hole."""
    path = work / "sparse"
    path.write_bytes(program.read_bytes())
    os.truncate(path, 4 * GB)
    return path


def packed_object(work: Path, size: int) -> Path:
    """Build an object with a large image in clang's section."""
    image, packed, source, out = (work / name for name in ("image", "packed", "known.c", "known.o"))
    source.write_text(HOST)
    (work / "known.ll").write_text(KERNEL)
    call("omptool", "lower", work / "known.ll", "--triple", TRIPLE, "-o", image)
    with image.open("ab") as file:
        for _ in range(size >> 20):
            file.write(os.urandom(1 << 20))
    call("clang-offload-packager-19", "-o", packed, f"--image=file={image},triple={TRIPLE}")
    call("clang-19", "-c", source, "-Xclang", f"-fembed-offload-object={packed}", "-o", out)
    image.unlink()
    packed.unlink()
    return out


def many_entries(work: Path) -> Path:
    """Build a program with a table of MANY kernels, and two images that define them."""
    names = [f"kernel_{number}" for number in range(MANY)]
    functions = "".join(f".globl {name}\n{name}: ret\n" for name in names)
    records = "".join(f".quad {name}, name_{name}, 0\n" for name in names)
    strings = "".join(f'name_{name}: .asciz "{name}"\n' for name in names)
    source = work / "many.s"
    source.write_text(
        f'.text\n{functions}.section .rodata\n{strings}.section omptarget_entries,"aw"\n'
        f'.balign 8\n{records}.section .note.GNU-stack,""\n'
    )
    (work / "main.c").write_text("int main(void) { return 0; }\n")
    host, image, bundled, program = (
        work / f"many{end}" for end in (".o", ".so", "-bundled.o", "-program")
    )
    call("cc", "-c", source, "-o", host)
    call("cc", "-shared", host, "-o", image)
    targets = (f"{TRIPLE}={image}", f"{TRIPLE}:znver4={image}")
    images = [word for target in targets for word in ("--image", target)]
    call("omptool", "bundle", host, *images, "-o", bundled)
    libdir = call("omptool", "config", "--libdir").strip()
    call("cc", bundled, work / "main.c", f"-L{libdir}", "-lomptarget", "-o", program)
    return program


def executable(work: Path, mib: int) -> Path:
    """Link a program with a real device image and `mib` MiB of bytes after its last section."""
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
    # Only lld links code and data together around 2 GB of read-only sections.
    call("clang-19", "-fuse-ld=lld", bundled, f"-L{libdir}", "-lomptarget", "-o", program)
    bundled.unlink()
    return program


def call(*command: object) -> str:
    """Run a step of the preparation."""
    words = [str(word) for word in command]
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    main()
