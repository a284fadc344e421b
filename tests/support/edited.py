# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Edits of finished files, as the tests make them, and what becomes of the results."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import clangs
import running
from clangs import FULL, OFFLOADING
from linking import LLD_FOLDER
from places import TESTS
from products import Products
from toolchain import PTX, omptool
from toolchain import run as call

from packager.hosts.load import load_all

REGION = TESTS / "packager" / "editing" / "sources" / "region.c"
GPU = "nvptx64-nvidia-cuda"
ON_DEVICE, ON_HOST = "device 10\n", "host 10\n"
Images = list[tuple[str, bytes]]

# Ways to link programs; each relocates the addresses of images differently.
LINKS = {
    "pie": ["--ld-path=/usr/bin/ld"],
    "no-pie": ["-fno-pie", "-no-pie", "--ld-path=/usr/bin/ld"],
    "lld": [f"--ld-path={LLD_FOLDER}/ld.lld"],
    "lld-no-pie": ["-fno-pie", "-no-pie", f"--ld-path={LLD_FOLDER}/ld.lld"],
    "relr": ["-Wl,-z,pack-relative-relocs", "--ld-path=/usr/bin/ld"],
    "gold": ["--ld-path=/usr/bin/gold"],
    "mold": ["--ld-path=/usr/bin/mold"],
}
# Clang and way for `make test`.
SOME = [("14", "no-pie"), ("16", "lld"), ("19", "pie"), ("22", "relr"), ("19", "mold"),
        ("23", "pie")]  # fmt: skip
REST = [(v, link) for v in FULL for link in LINKS if (v, link) not in SOME]


def program(products: Products, version: str, link: str) -> Path:
    """Build the program of region.c by a clang, its image, a larger one and one for a GPU."""

    def make(folder: Path) -> Path:
        app = folder / "app"
        call(*clangs.tool(version), "-O1", *OFFLOADING, *LINKS[link], REGION, "-o", app)
        ((_, image),) = images(app)
        (folder / "own.so").write_bytes(image)
        (folder / "large.so").write_bytes(image + bytes(100_000))
        (folder / "gpu.ptx").write_text(PTX)
        return app

    return products.made(f"edited-{version}-{link}", make)


def edited(path: Path, out: Path, *options: object) -> Path:
    """Edit `path`, whatever verify finds in the result."""
    done = omptool("edit", path, *options, "--force", "-o", out)
    assert done.exit_code == 0, done.output
    return out


def images(path: Path) -> Images:
    """Return the images of the first descriptor in order: triple, if known, and bytes."""
    for loaded in load_all(path):
        assert loaded.binary.descriptors, f"{path.name} has no descriptor"
        listed = loaded.binary.descriptors[0].images
        return [(loaded.binary.images[n].triple, loaded.data[n].bytes()) for n in listed]
    raise AssertionError(path)


def on_ours(path: Path, **environment: str) -> str:
    """Return the output of a program on the bundled runtime."""
    done = running.run(path, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def on_llvms(path: Path, version: str) -> str:
    """Return the output of a program on LLVM's runtime."""
    done = subprocess.run(
        [str(path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=running.PATIENCE,
        env=os.environ | {"LD_LIBRARY_PATH": clangs.own_runtime(version)},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def stripped(path: Path, *command: object) -> Path:
    """Return a copy processed by a tool like strip."""
    out = path.with_name(f"{path.name}.{Path(str(command[0])).name}")
    call(*command, path, "-o", out)
    return out


def patched(path: Path) -> Path:
    """Return a copy processed by patchelf, with a search path that needs room."""
    out = Path(shutil.copy(path, path.with_name(f"{path.name}.patchelf")))
    call("patchelf", "--set-rpath", "/nowhere/" * 40, out)
    return out
