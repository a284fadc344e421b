# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shipped libraries for one, two and all of their architectures: exactly the kept images remain."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import cuda
import pytest
from documents import dumped_files
from field_files import Package, Shipped, listed, unpacked
from toolchain import omptool, run

from packager.slimming.file import slim_file
from packager.slimming.keeps import named
from packager.slimming.request import Request
from packager.slimming.slimmed import Slimmed

OVERHEAD = 64 << 10
LISTED = re.compile(r"sm_\d+[af]?")
# Endings of listed files, with architectures for which every container has native code, sorted by
# bytes.
FIELD = {
    "bitsandbytes==0.50.2/libbitsandbytes_cuda128.so": ("sm_90", "sm_80,sm_120"),
    "bitsandbytes==0.50.2/libbitsandbytes_cuda130.so": ("sm_90", "sm_75,sm_100"),
    "bitsandbytes==0.50.2/libbitsandbytes_rocm714.so": ("gfx942", "gfx90a,gfx1100"),
    "bitsandbytes==0.50.2/libbitsandbytes_rocm72.so": ("gfx1100", "gfx1100,gfx1201"),
    "bitsandbytes==0.45.5/libbitsandbytes_cuda128.dll": ("sm_90", "sm_80,sm_90"),
    "librocrand1==5.3.3-4/librocrand.so.1.1": ("gfx90a", "gfx906,gfx1030"),
    "cupy-cuda13x==14.2.0/cub.cpython-311-x86_64-linux-gnu.so": ("sm_90", "sm_80,sm_100"),
}
QUICK = {
    "jax-cuda13-plugin==0.10.2/_solver.so": ("sm_90", "sm_80,sm_100"),
    "jax-rocm7-plugin==0.10.2/_solver.so": ("gfx942", "gfx90a,gfx1100"),
}
SYCL = "bitsandbytes==0.50.2/libbitsandbytes_xpu2026.so"


def library(name: str) -> Iterator[Path]:
    """Yield a listed file, by its package and the end of its path."""
    package, _, end = name.partition("/")
    for found in (*listed(quick=False), *listed(quick=True)):
        for file in found.files if found.name == package else ():
            if file.path.endswith(f"/{end}"):
                yield from (path for _, path in unpacked(_alone(found, file)))
                return
    raise AssertionError(f"{name} is not listed")


def _alone(package: Package, file: Shipped) -> Package:
    return package._replace(files=(file,))


def images(path: Path) -> list[tuple[str, str, str]]:
    """Return kind, architecture and hash of the registered images."""
    (file,) = dumped_files("--hash", path)
    told = {n for row in file["registrations"] for n in row["images"]}
    is_elf = bool(file["registrations"])
    found = (i for i in file["images"] if i["index"] in told or not is_elf)
    return sorted((i["kind"], i["arch"], i["sha256"]) for i in found)


def processor(arch: str) -> str:
    """Return the processor of an architecture without its settings or features."""
    return arch.rstrip("af") if arch.startswith("sm_") else arch.split(":", maxsplit=1)[0]


def slimmed(path: Path, out: Path, keep: str) -> Slimmed:
    done = slim_file(path, out, path.name, Request(named([keep])))
    assert done is not None
    assert done.lacking == ()
    return done


def check(path: Path, folder: Path, keep: str) -> None:
    """Check that the result has the images of these architectures, byte by byte, and no others."""
    before = images(path)
    out = folder / path.name
    done = slimmed(path, out, keep)
    archs = keep.split(",")
    expected = [i for i in before if processor(i[1]) in archs and i[0] != "ptx"]
    assert images(out) == expected
    removed = sum(share.before - share.after for share in done.shares)
    assert removed > 0
    is_elf = path.suffix not in (".dll", ".pyd")
    assert out.stat().st_size == done.after
    assert done.after <= done.before - (removed if is_elf else 0) + OVERHEAD
    again = slim_file(out, None, out.name, Request(named([keep])))
    assert again is not None
    assert not again.is_changed
    assert again.after == done.after
    _expect_no_finding(path, out)
    if any(kind == "cubin" for kind, _, _ in before) and is_elf:
        text = run(cuda.tool("cuobjdump"), "-lelf", "-lptx", "-all", out)
        theirs = sorted(map(processor, LISTED.findall(text)))
        assert theirs == sorted(processor(arch) for _, arch, _ in expected)


def _expect_no_finding(path: Path, out: Path) -> None:
    """Expect no error of verify that the input lacks."""
    codes = [
        set(re.findall(r": (OMP\d+) error", omptool("verify", file).stdout)) for file in (path, out)
    ]
    assert codes[1] <= codes[0]


@pytest.mark.parametrize(("name", "keeps"), QUICK.items(), ids=QUICK)
def test_two_quick_files(tmp_path: Path, name: str, keeps: Sequence[str]) -> None:
    for path in library(name):
        for number, keep in enumerate(keeps):
            (tmp_path / str(number)).mkdir()
            check(path, tmp_path / str(number), keep)


@pytest.mark.field
@pytest.mark.parametrize(("name", "keeps"), FIELD.items(), ids=FIELD)
def test_shipped_libraries(tmp_path: Path, name: str, keeps: Sequence[str]) -> None:
    for path in library(name):
        for number, keep in enumerate(keeps):
            (tmp_path / str(number)).mkdir()
            check(path, tmp_path / str(number), keep)
        everything = ",".join({processor(i[1]) for i in images(path) if i[0] != "ptx"})
        (tmp_path / "all").mkdir()
        slimmed(path, tmp_path / "all" / path.name, everything)
        out = tmp_path / "all" / path.name
        expected = [i for i in images(path) if i[0] != "ptx"]
        assert images(out if out.exists() else path) in (expected, images(path))


@pytest.mark.field
def test_a_sycl_library(tmp_path: Path) -> None:
    """Either the target spir64_gen is removed as a whole, or spir64."""
    for path in library(SYCL):
        before = images(path)
        for keep in ("spir64", "spir64_gen"):
            out = tmp_path / f"{keep}.so"
            done = slimmed(path, out, keep)
            assert done.is_changed
            after = images(out)
            assert after
            assert set(after) < set(before)
            targets = {i["triple"].split("-")[0] for i in dumped_files(out)[0]["images"]}
            assert targets == {keep}
            _expect_no_finding(path, out)
