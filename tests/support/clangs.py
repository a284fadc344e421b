# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""OpenMP programs: how the tests compile them, with every clang, and run them on the device.

Offloading is mandatory in all of them, so that nothing passes by running on the host.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import running
from fixture_programs import X86_64, call
from linking import FAST_LINKER
from machine import lacks
from places import ROOT
from products import of_this_run

from packager.generations import of_release

INSTALLED = "19"
# Folder into which scripts/compilers.sh unpacks other clangs.
UNPACKED = ROOT / "build" / "compilers"
# Clangs of each test in `make test`, all or in turn: they differ the most.
FULL = ("14", "16", INSTALLED, "22", "23")
NEWEST = FULL[-1]
OTHERS = tuple(version for version in FULL if version != INSTALLED)
# Clangs whose packages have lld but no OpenMP, with the release whose runtime they link. These lack
# all code generators for GPUs but AMD's, too.
PACKAGED = {"17": INSTALLED, "18": INSTALLED, "20": "22", "21": "22", "23": "22"}
# Debian's clangs, which come with LLVM's runtime.
WITH_RUNTIME = tuple(version for version in FULL if version not in PACKAGED)
# Snapshots that only `make test-all` unpacks. They have no runtime that runs here.
SNAPSHOTS = ("24",)
UNPACKED_SNAPSHOTS = tuple(version for version in SNAPSHOTS if (UNPACKED / version).exists())
WITH_SNAPSHOTS = (*FULL, *UNPACKED_SNAPSHOTS)
# All clangs: those outside of FULL take turns in `make test`, and run all programs in `make
# test-all`.
EVERY = tuple(sorted({*FULL, *PACKAGED}))
TRIED = (*EVERY, *UNPACKED_SNAPSHOTS)
# Columns of the tables in the documentation, on every machine.
DOCUMENTED = (*EVERY, *SNAPSHOTS)
CLANG = {".c": "clang-19", ".cpp": "clang++-19"}
OFFLOADING = ("-fopenmp", f"-fopenmp-targets={X86_64}", "-fopenmp-extensions")
FLAGS = (*OFFLOADING, FAST_LINKER)
# Warnings for programs. Loops that clang cannot vectorise are no fault.
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wno-unused-but-set-variable", "-Wno-pass-failed")


def compiled(source: Path, into: Path, *flags: str) -> Path:
    """Compile a program; warnings are errors."""
    return made(into / source.stem, CLANG[source.suffix], *FLAGS, *WARNINGS, *flags, source)


def compiled_by(version: str, source: Path, into: Path) -> Path:
    """Compile a program by a clang, and link it with that clang's runtime."""
    return made(into / source.stem, *compiler(version, source), *own_library(version), source)


def made(out: Path, *command: object) -> Path:
    """Make a compiler's output once in a test run; later callers get a copy."""
    words = [str(word) for word in command]
    return once(out, words, lambda path: call(*words, "-o", path))


def once(out: Path, words: Sequence[str], make: Callable[[Path], object]) -> Path:
    """Return `out`, which the first call with these words in a test run made."""
    for products in of_this_run:
        return products.copied(out, words, make)
    make(out)
    return out


def program_of(version: str, text: str, source: Path) -> Path:
    """Compile a source with this text, in a folder of its clang, once."""
    folder = source.parent / version
    folder.mkdir(exist_ok=True)
    own = folder / source.name
    if not (folder / source.stem).exists():
        own.write_text(text)
        if version == INSTALLED:
            compiled(own, folder)
        else:
            compiled_by(version, own, folder)
    return folder / source.stem


def compiler(version: str, source: Path, level: str = "-O1") -> list[str]:
    """Return the command that compiles `source` by a clang, without file names."""
    # Clang 14 links images like the program, and tests that change images rely on ld's layout.
    own_linker = version == "14" or version in PACKAGED
    flags = [level, *(OFFLOADING if own_linker else FLAGS), "-fopenmp-version=51"]
    name = "clang++" if source.suffix == ".cpp" else "clang"
    return [*tool(version, name), *flags]


def tool(version: str, name: str = "clang") -> list[str]:
    """Return the command that runs a program of a clang's release."""
    if version == INSTALLED:
        return [f"/usr/lib/llvm-{version}/bin/{name}"]
    tools = unpacked(version) / "lib" / f"llvm-{version}" / "bin"
    # Bundlers look up llvm-objcopy on PATH; PyPI's packages lack it.
    path = f"PATH={tools}:{os.environ['PATH']}:/usr/lib/llvm-{INSTALLED}/bin"
    return ["env", path, f"LD_LIBRARY_PATH={libraries(version)}", str(tools / name)]


def libraries(version: str) -> str:
    """Return the folder of a clang's libraries and LLVM's own runtime, as a search path."""
    if version == INSTALLED:
        return f"/usr/lib/llvm-{version}/lib"
    root = unpacked(version)
    own = f"{root / 'lib' / 'x86_64-linux-gnu'}:{root / 'lib' / f'llvm-{version}' / 'lib'}"
    return f"{own}:{libraries(PACKAGED[version])}" if version in PACKAGED else own


def unpacked(version: str) -> Path:
    """Return the `usr` folder of an unpacked clang; without it, skip the test or fail in CI."""
    root = UNPACKED / version / "usr"
    if not (root / "lib" / f"llvm-{version}" / "bin" / "clang").exists():
        lacks(f"clang-{version} is not here: scripts/compilers.sh unpacks it")
    return root


def runtime(version: str) -> Path:
    """Return the folder of a libomptarget of 20, 22 or 23 alone (scripts/compilers.sh)."""
    folder = UNPACKED / "runtimes" / version / "lib"
    if not folder.exists():
        lacks(f"the runtime of LLVM {version} is not here: scripts/compilers.sh unpacks it")
    return folder


def llvm_library(version: str) -> Path:
    """Return LLVM's libomptarget of a clang's release, or of 20, 22 or 23."""
    if version in PACKAGED:
        return runtime(version) / "libomptarget.so"
    usr = Path("/usr") if version == INSTALLED else unpacked(version)
    return usr / "lib" / f"llvm-{version}" / "lib" / soname(version)


def own_library(version: str) -> list[str]:
    """Return the options with which a clang's driver links libomptarget of its release.

    Without them clang 23 links that of 22, which verify and doctor warn of.
    """
    return [f"-L{llvm_library(version).parent}"] if version == "23" else []


def own_runtime(version: str) -> str:
    """Return a search path on which a clang's programs find LLVM's runtime of its release.

    That of 20 came alone, and so did Intel's build of 23. Of 17, 18 and 21 none is here.
    """
    if version not in PACKAGED:
        return libraries(version)
    library = llvm_library(version)

    def link(there: Path) -> None:
        (there / soname(version)).symlink_to(library)

    return f"{of_this_run[0].folder(f'runtime-{version}', link)}:{library.parent}"


def linked_libraries(version: str) -> list[Path]:
    """Return LLVM's libomp and libomptarget of a clang's release, for links without a driver."""
    folders = own_runtime(version).split(":")
    found = min(path for folder in folders for path in Path(folder).glob("libomp.so*"))
    return [found, llvm_library(version)]


def soname(version: str) -> str:
    """Return the name under which programs of a clang that is here need LLVM's runtime."""
    return of_release(int(PACKAGED.get(version, version))).soname


def stem(path: Path) -> str:
    """Return a test's name for `path`."""
    return path.stem


def run(program: Path, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `program` on the bundled runtime, where every region must offload."""
    return running.run(program, *arguments, **running.MANDATORY | environment)
