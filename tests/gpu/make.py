# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes a GPU kit: a tarball that tests this runtime on a machine with a GPU and nothing else.

Usage: python tests/gpu/make.py [--ptxas FILE] [--libdevice FILE] [--without-llvm] [--only TEXT]

`make gpu-kit` runs it; docs/gpus.md says what the kit holds, and what it does where it is unpacked.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))
import made  # noqa: E402
from clangs import INSTALLED, UNPACKED, libraries  # noqa: E402
from fixture_programs import call  # noqa: E402
from made import Tools  # noqa: E402

from omptool import __version__  # noqa: E402
from omptool.installation import libdir  # noqa: E402

BUILD = ROOT / "build" / "gpu-kit"
# Folders in which `make gpu-kit` and pip install NVIDIA's assembler of CUDA 12.
PLACES = (ROOT / "build" / "cuda12", Path(sysconfig.get_path("purelib")))
MOST = 64 << 20  # most bytes of a tarball
LIBOFFLOAD, ITS_RELEASE = "libLLVMOffload.so.22.1", "22"
# Libraries of every Linux whose C library is glibc.
OF_THE_MACHINE = ("libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1")
LOADER = "ld-linux-x86-64.so.2"


def main() -> None:
    """Build, check, pack."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--ptxas", type=Path, help="NVIDIA's assembler")
    parser.add_argument("--libdevice", type=Path, help="NVIDIA's mathematical functions")
    parser.add_argument("--without-llvm", action="store_true", help="no LLVM 19's runtime in it")
    parser.add_argument("--only", default="", help="programs with this in their names")
    parser.add_argument("--no-suite", action="store_true", help="without conformance_tests")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    options = parser.parse_args()
    tools = found_tools(options.ptxas, options.libdevice)
    kit = BUILD / f"omptool-gpu-kit-{__version__}"
    shutil.rmtree(kit, ignore_errors=True)
    for folder in ("lib", "bin", "images", "programs", "faults", "figures"):
        (kit / folder).mkdir(parents=True)
    copy_fixed(kit)
    if not options.no_suite:
        build_suite(kit)
    made.images_of_the_suite(kit, tools)
    built, not_built = made.all_programs(kit, tools, options.only)
    made.faults_by_hand(kit, tools)
    made.more_faults(kit, tools)
    made.programs_of_figures(kit, tools)
    why = "" if not options.without_llvm else "it was made without"
    if not why:
        why = pack_llvm(kit)
    manifest = {
        "version": __version__,
        "commit": commit(),
        "compiler": made.clang_name(),
        "ptxas": assembler(tools),
        "libdevice": bool(tools.libdevice),
        "llvm": not why,
        "why no llvm": why,
        "glibc": check_libraries(kit),
        "programs": built,
        "not built": not_built,
    }
    (kit / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    report(pack(kit, options.out), manifest)
    print(pack_liboffload(kit, options.out))


def found_tools(ptxas: Path | None, libdevice: Path | None) -> Tools:
    """Return ptxas and libdevice: the named ones, CUDA 12's, or those on PATH."""
    package = [place / "nvidia" / "cuda_nvcc" for place in PLACES]
    if not ptxas:
        on_path = shutil.which("ptxas")
        choices = [folder / "bin" / "ptxas" for folder in package]
        choices += [Path(on_path).resolve()] if on_path else []
        ptxas = next((path for path in choices if path.exists()), None)
    if ptxas:
        os.environ["PATH"] = f"{ptxas.parent}:{os.environ['PATH']}"
    if not libdevice and ptxas:
        beside = ptxas.parents[1] / "nvvm" / "libdevice" / "libdevice.10.bc"
        libdevice = beside if beside.exists() else None
    return Tools(ptxas, libdevice)


def copy_fixed(kit: Path) -> None:
    """Copy files that are in the tree, or that the package has built already."""
    shutil.copytree(
        HERE / "carried", kit, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
    )
    for library in libdir().glob("lib*.so*"):
        shutil.copy(library, kit / "lib")
    shutil.copy(made.libomp(), kit / "lib")
    shutil.copy(ROOT / "LICENSE", kit)
    shutil.copy(ROOT / "docs" / "gpus.md", kit / "README.txt")


def build_suite(kit: Path) -> None:
    """Build conformance_tests, linked statically with the C++ library."""
    folder = BUILD / "runtime"
    flags = f"-DCMAKE_EXE_LINKER_FLAGS={' '.join(made.STATIC)}"
    call("cmake", "-S", ROOT / "runtime", "-B", folder, "-G", "Ninja", "-DOMPTOOL_TESTS=ON", flags)
    call("cmake", "--build", folder, "--target", "conformance_tests")
    shutil.copy(folder / "tests" / "plugins" / "conformance_tests", kit / "bin")


def pack_llvm(kit: Path) -> str:
    """Pack LLVM 19's runtime and its libraries once; return why not, or ""."""
    first = Path(libraries(INSTALLED)) / f"libomptarget.so.{INSTALLED}.1"
    if not first.exists():
        return f"LLVM {INSTALLED}'s libomptarget was not there"
    shutil.copy(packed(first, "llvm", libraries(INSTALLED)), kit / "llvm.tar.xz")
    return ""


def pack_liboffload(kit: Path, out: Path) -> str:
    """Pack LLVM's liboffload and its dependencies in a tarball; return a line about it."""
    first = UNPACKED / ITS_RELEASE / "usr" / "lib" / "x86_64-linux-gnu" / LIBOFFLOAD
    if not first.exists():
        return f"not made: the tarball of liboffload, as {first} is not there"
    libraries_of_it = packed(first, "liboffload", libraries(ITS_RELEASE))
    path = out / f"{kit.name}-liboffload.tar.gz"
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        archive.add(libraries_of_it, f"{kit.name}/liboffload.tar.xz")
    if path.stat().st_size >= MOST:
        sys.exit(f"{path} has {path.stat().st_size} bytes, of {MOST} at most")
    return f"{path}: {path.stat().st_size / (1 << 20):.1f} MiB"


def packed(first: Path, stem: str, folders: str) -> Path:
    """Return a kept tarball of a library and its dependencies."""
    said = subprocess.run(
        ["ldd", first],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"LD_LIBRARY_PATH": folders},
    ).stdout
    found = {
        words[0]: Path(words[2])
        for words in map(str.split, said.splitlines())
        if len(words) > 2 and words[0] not in (*OF_THE_MACHINE, LOADER)
    }
    found[first.name] = first
    digest = hashlib.sha256()
    for name, path in sorted(found.items()):
        digest.update(f"{name} {path.stat().st_size} {path.stat().st_mtime_ns}\n".encode())
    path = BUILD / f"{stem}-{digest.hexdigest()[:16]}.tar.xz"
    if not path.exists():
        partly = path.with_suffix(".partly")
        with tarfile.open(partly, "w:xz", preset=6) as archive:
            for name, library in sorted(found.items()):
                archive.add(library.resolve(), name)
        partly.rename(path)
    return path


def check_libraries(kit: Path) -> str:
    """Check that the kit contains all needed libraries; return the newest glibc version needed."""
    own = {path.name for path in (kit / "lib").iterdir()}
    files = [
        path for path in kit.rglob("*") if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"
    ]
    files = [path for path in files if path.parent.name != "images"]
    for path in files:
        lacking = set(made.needed(path)) - own - {*OF_THE_MACHINE, LOADER}
        if lacking:
            sys.exit(f"{path.relative_to(kit)} needs what is not in the kit: {sorted(lacking)}")
    return made.newest_glibc(files)


def pack(kit: Path, out: Path) -> Path:
    """Write the tarball. `tar xf` or `python3 -m tarfile -e` unpacks it."""
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{kit.name}.tar.gz"
    with tarfile.open(path, "w:gz", compresslevel=6) as archive:
        archive.add(kit, kit.name)
    if path.stat().st_size >= MOST:
        sys.exit(f"{path} has {path.stat().st_size} bytes, of {MOST} at most")
    return path


def report(path: Path, manifest: dict[str, Any]) -> None:
    """Print the contents of the kit, and its missing parts."""
    print(f"{path}: {path.stat().st_size / (1 << 20):.1f} MiB, needs glibc {manifest['glibc']}")
    print(f"{len(manifest['programs'])} programs; images by {manifest['ptxas'] or 'no ptxas: PTX'}")
    for one in manifest["not built"]:
        print(f"not in it: {one['name']}: {one['why']}")
    if manifest["why no llvm"]:
        print(f"not in it: LLVM {INSTALLED}'s runtime: {manifest['why no llvm']}")


def assembler(tools: Tools) -> str:
    """Return the assembler's version line."""
    if not tools.ptxas:
        return ""
    said = subprocess.run([tools.ptxas, "--version"], capture_output=True, text=True, check=True)
    return said.stdout.splitlines()[-1]


def commit() -> str:
    """Return the tree's commit, if git knows it."""
    done = subprocess.run(
        ["git", "-C", ROOT, "describe", "--always", "--dirty"],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip()


if __name__ == "__main__":
    main()
