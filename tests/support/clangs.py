"""OpenMP programs: how the tests compile them, with every clang, and run them on the device.

Offloading is mandatory in all of them, so that nothing passes by running on the host.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import running
from fixture_programs import OMPTOOL, X86_64, call
from linking import FAST_LINKER
from machine import lacks
from places import ROOT
from products import of_this_run

INSTALLED = "19"
# Programs are compiled, and linked by `omptool link`, as `make test-all` has them once more.
BY_LINK = "OMPTOOL_TESTS_BY_LINK" in os.environ
# Where scripts/compilers.sh unpacks other clangs, if the distribution has them.
UNPACKED = ROOT / "build" / "compilers"
OTHERS = ("14", "16", "22")
VERSIONS = ("14", "16", INSTALLED, "22")
CLANG = {".c": "clang-19", ".cpp": "clang++-19"}
OFFLOADING = ("-fopenmp", f"-fopenmp-targets={X86_64}", "-fopenmp-extensions")
FLAGS = (*OFFLOADING, FAST_LINKER)
# Loops that clang did not make vectors of are no fault of a program's.
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wno-unused-but-set-variable", "-Wno-pass-failed")


def compiled(source: Path, into: Path, *flags: str) -> Path:
    """The program of `source`; clang's warnings are errors."""
    return made(into / source.stem, CLANG[source.suffix], *FLAGS, *WARNINGS, *flags, source)


def compiled_by(version: str, source: Path, into: Path) -> Path:
    """The program of `source`, compiled by a clang and linked with its own runtime."""
    return made(into / source.stem, *compiler(version, source), source)


def made(out: Path, *command: object) -> Path:
    """What a compiler makes, once in a run of the tests: those who ask later get a copy."""
    words = [str(word) for word in command]
    for products in of_this_run:
        return products.copied(out, words, lambda path: _make(path, words))
    _make(out, words)
    return out


def _make(out: Path, words: list[str]) -> None:
    for step in steps(out, words):
        call(*step)


def steps(out: Path, words: list[str]) -> list[list[str]]:
    """The commands that make `out` as one command of a compiler would."""
    sources = [word for word in words if Path(word).suffix in CLANG]
    if not BY_LINK or "-c" in words or not sources:
        return [[*words, "-o", str(out)]]
    objects = {word: str(out.parent / f"{Path(word).name}.o") for word in sources}
    others = [word for word in words if word not in objects]
    alone = [*others, "-Wno-unused-command-line-argument", "-c"]
    is_offloading = any(word.startswith("-fopenmp-targets=") for word in words)
    runtime = ["-lomptarget"] if is_offloading else []
    linked = [objects.get(word, word) for word in words]
    # Some tests are about entries that no image has.
    link = [OMPTOOL, "link", "--force", "--", *linked, *runtime, "-o", str(out)]
    return [*([*alone, source, "-o", made] for source, made in objects.items()), link]


def program_of(version: str, text: str, source: Path) -> Path:
    """The program of a source file with this text, in a folder of its clang; made once."""
    folder = source.parent / version
    folder.mkdir(exist_ok=True)
    own = folder / source.name
    if not own.exists():
        own.write_text(text)
        if version == INSTALLED:
            compiled(own, folder)
        else:
            compiled_by(version, own, folder)
    return folder / source.stem


def compiler(version: str, source: Path) -> list[str]:
    """The command that compiles programs like `source` by a clang, up to their names."""
    # Clang 14 links images as the program: what tests change in them is as ld lays it out.
    flags = ["-O1", *(OFFLOADING if version == "14" else FLAGS), "-fopenmp-version=51"]
    name = "clang++" if source.suffix == ".cpp" else "clang"
    return [*tool(version, name), *flags]


def tool(version: str, name: str = "clang") -> list[str]:
    """A program that comes with a clang, as a command."""
    if version == INSTALLED:
        return [f"/usr/lib/llvm-{version}/bin/{name}"]
    tools = unpacked(version) / "lib" / f"llvm-{version}" / "bin"
    # Clang 14's bundler looks for llvm-objcopy on PATH.
    search = (f"PATH={tools}:{os.environ['PATH']}", f"LD_LIBRARY_PATH={libraries(version)}")
    return ["env", *search, str(tools / name)]


def libraries(version: str) -> str:
    """Where a clang has its libraries and LLVM's own runtime, as a search path."""
    if version == INSTALLED:
        return f"/usr/lib/llvm-{version}/lib"
    root = unpacked(version)
    return f"{root / 'lib' / 'x86_64-linux-gnu'}:{root / 'lib' / f'llvm-{version}' / 'lib'}"


def unpacked(version: str) -> Path:
    """The `usr` folder of an unpacked clang; the test is skipped without it, or fails in CI."""
    root = UNPACKED / version / "usr"
    if not (root / "lib" / f"llvm-{version}" / "bin" / "clang").exists():
        lacks(f"clang-{version} is not here: scripts/compilers.sh unpacks it")
    return root


def runtime(version: str) -> Path:
    """The folder of a libomptarget of 20, 22 or 23 that came alone (scripts/compilers.sh)."""
    folder = UNPACKED / "runtimes" / version / "lib"
    if not folder.exists():
        lacks(f"the runtime of LLVM {version} is not here: scripts/compilers.sh unpacks it")
    return folder


def stem(path: Path) -> str:
    """The name of a test of `path`."""
    return path.stem


def run(program: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `program` on the bundled runtime, where every region must offload."""
    return running.run(program, **running.MANDATORY | environment)
