# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every command shows the same architecture of an image: that in its bytes, if they have one."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import takewhile
from pathlib import Path

import pytest
import sycl
from containers import AMD, Containers
from documents import document
from places import DATA
from toolchain import PTX, compile_c, omptool, run

pytestmark = pytest.mark.slow


def ran(*words: object) -> str:
    result = omptool(*words)
    assert result.exit_code == 0, result.output
    return str(result.stdout)


def column(text: str, name: str) -> list[str]:
    """Return a column of the first table, whose head is above a line of hyphens."""
    lines = text.splitlines()
    at = next(number for number, line in enumerate(lines) if re.fullmatch("[- ]*-[- ]*", line))
    spans = {
        lines[at - 1][slice(*m.span())].strip(): m.span() for m in re.finditer("-+", lines[at])
    }
    rows = takewhile(lambda line: not line.endswith(":"), lines[at + 1 :])
    return [row[slice(*spans[name])].strip().removeprefix("-") for row in rows]


def shown(path: Path, folder: Path) -> list[str]:
    """Return the architecture of each image, on which all commands must agree."""
    (dumped,) = document("dump", ran("dump", "--json", path))["files"]
    archs = [image["arch"] or "" for image in dumped["images"]]
    assert column(ran("dump", "--images", path), "arch") == archs
    written = document("extract", ran("extract", "--all", "--json", path, "-o", folder))["images"]
    assert [image["arch"] or "" for image in written] == archs
    for image, arch in zip(written, archs, strict=True):
        name = Path(image["path"]).stem
        assert name.endswith(re.sub(r"[^A-Za-z0-9._+-]", "_", f"-{arch}" if arch else ""))
        if image["kernels"]:
            words = ("--image", image["index"], "--kernels", path)
            target = {f"{image['triple'] or image['machine']} {arch}".rstrip()}
            assert set(column(ran("extract", *words), "target")) == target
        if image["kernels"] and arch:
            kernels = ran("dump", "--kernels", path)
            assert arch.removeprefix("sm_").removeprefix("gfx") in kernels
    return archs


def code_object(folder: Path) -> Path:
    """Make a code object for gfx90a:xnack+."""
    Containers(folder)
    flags = ("-mcpu=gfx90a", "-mattr=+xnack", "-filetype=obj")
    run("llc-19", *flags, folder / "k.ll", "-o", folder / "x.o")
    run("ld.lld-19", "-shared", folder / "x.o", "-o", folder / "x.co")
    return folder / "x.co"


def own(folder: Path) -> Path:
    """Emit images that declare less than the bytes say, the same, and more."""
    (folder / "k.ptx").write_text(PTX.replace("sm_70", "sm_90"))
    (folder / "k.spv").write_bytes(sycl.spirv("first"))
    (folder / "gpu.spv").write_bytes(sycl.spirv("first"))
    host = compile_c("void first(void) {}", folder / "k.so", "-shared", "-fPIC")
    images = {
        "nvptx64": folder / "k.ptx",
        "nvptx64:sm_120": DATA / "driver.cubin",
        f"{AMD}:gfx90a": code_object(folder),
        "spirv64": folder / "k.spv",
        "spirv64:pvc": folder / "gpu.spv",
        "x86_64": host,
    }
    words = [word for target, path in images.items() for word in ("--image", f"{target}={path}")]
    (folder / "names").write_text("first\n")
    ran("emit", *words, "--entries", folder / "names", "--force", "-o", folder / "own.o")
    return folder / "own.o"


def hip(folder: Path) -> Path:
    """Make a bundle that declares the first image for no more than gfx90a."""
    image = code_object(folder)
    made = Containers(folder)
    bundle = made.bundle("b.hipfb", image, made.images[1])
    return made.section("hip.o", ".hip_fatbin", bundle, "--set-section-flags=.hip_fatbin=alloc")


def cuda(folder: Path) -> Path:
    """Return a fat binary with images for a family and for single architectures."""
    return DATA / "family.fatbin"


def of_sycl(folder: Path) -> Path:
    return sycl.sample(folder)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (own, ["sm_90", "sm_120", "gfx90a:xnack+", "SPIR-V 1.0", "pvc", ""]),
        (hip, ["gfx90a:xnack+", "gfx906"]),
        (cuda, ["sm_100f", "sm_103f"]),
        (of_sycl, ["12.60.7", "SPIR-V 1.0", "SPIR-V 1.0", "SPIR-V 1.0"]),
    ],
    ids=["emit", "hip", "cuda", "sycl"],
)
def test_every_command_shows_one(
    tmp_path: Path, made: Callable[[Path], Path], expected: list[str]
) -> None:
    assert shown(made(tmp_path), tmp_path / "extracted") == expected
