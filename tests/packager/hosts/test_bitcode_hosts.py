# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Objects of `clang -flto`: their device code is shown, and the host's bitcode is no image."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from clangs import INSTALLED, tool
from documents import dumped, dumped_files, dumped_images
from toolchain import NVPTX, OPENMP, X86_64, omptool, run
from verifying import findings

TARGETS = f"-fopenmp-targets={X86_64},{NVPTX}"
BOTH = [NVPTX, X86_64]  # clang puts bitcode first
GPU = ("-foffload-lto", "-nogpulib", f"-Xopenmp-target={NVPTX}", "-march=sm_90")


def compiled(folder: Path, *flags: str, version: str = INSTALLED, name: str = "k.o") -> Path:
    """Compile one source to an object."""
    source = folder / "k.c"
    source.write_text(OPENMP)
    words = [*tool(version), "-O1", "-fopenmp", *flags, "-c", source, "-o", folder / name]
    run(*words)
    return folder / name


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide an object for two targets."""
    return compiled(tmp_path_factory.mktemp("both"), TARGETS, *GPU, "-flto")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "lto"),
    [("16", "-flto"), (INSTALLED, "-flto"), (INSTALLED, "-flto=thin"), ("22", "-flto"),
     ("23", "-flto")],
)  # fmt: skip
def test_it_holds_what_an_object_without_flto_holds(version: str, lto: str, tmp_path: Path) -> None:
    flags = (TARGETS, *GPU) if version == INSTALLED else (f"-fopenmp-targets={X86_64}",)
    plain, bits = (
        dumped_files("--hash", compiled(tmp_path, *flags, *more, version=version))[0]
        for more in ((), (lto,))
    )
    assert bits["host"] == plain["host"] == {"machine": "x86_64", "type": "object"}
    assert bits["abi"] == plain["abi"]
    assert len(bits["images"]) == (2 if version == INSTALLED else 1)
    for mine, theirs in zip(bits["images"], plain["images"], strict=True):
        kept = ("container", "kind", "triple", "arch", "size", "kernels", "globals")
        assert {key: mine[key] for key in kept} == {key: theirs[key] for key in kept}
        if mine["triple"] == X86_64:
            assert mine["sha256"] == theirs["sha256"]
        assert mine["compression"] == "bitcode"
        assert 0 < mine["offset"] < mine["offset"] + mine["stored_size"] < 1 << 16


def test_what_is_said_of_it(both: Path) -> None:
    said = omptool("dump", both).stdout
    assert said.startswith(f"{both}: x86_64 object, ABI llvm-19\n")
    assert "entries are not seen before the link: the object is LLVM bitcode (-flto)" in said
    (finding,) = findings(both)
    assert (finding["code"], finding["severity"]) == ("OMP101", "info")
    assert "omptool link --" in finding["hint"]


def test_extract_writes_the_device_code(both: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    hashes = {image["sha256"] for file in dumped_files("--hash", both) for image in file["images"]}
    assert omptool("extract", both, "--all", "-o", out).exit_code == 0
    written = sorted(out.iterdir())
    assert len(written) == 2
    assert {hashlib.sha256(one.read_bytes()).hexdigest() for one in written} == hashes
    assert {one.read_bytes()[:4] for one in written} == {b"BC\xc0\xde"}  # from -foffload-lto


def test_members_of_archives(both: Path, tmp_path: Path) -> None:
    none = compiled(tmp_path, "-flto", name="none.o")
    run("llvm-ar-19", "rcS", tmp_path / "libk.a", both, none)
    (file,) = dumped_files(tmp_path / "libk.a")
    assert file["path"] == f"{tmp_path / 'libk.a'}(k.o)"
    assert [image["triple"] for image in file["images"]] == BOTH
    assert omptool("verify", tmp_path / "libk.a").exit_code == 0


def test_bitcode_without_device_code_may_be_an_image(tmp_path: Path) -> None:
    """A device's module for a CPU has no summary for the link of a host."""
    flags = ("--offload-device-only", "-emit-llvm", f"-fopenmp-targets={X86_64}")
    path = compiled(tmp_path, *flags)
    (image,) = dumped_images(path)
    assert (image["container"], image["kind"]) == ("bare", "bitcode")
    assert dumped(path)["host"] is None


def test_each_damaged_copy_ends_in_a_line(both: Path, tmp_path: Path) -> None:
    data = both.read_bytes()
    first = dumped_images(both)[0]
    changed = tmp_path / "changed.o"
    for at in (*range(0, 400, 29), *range(first["offset"], first["offset"] + 160, 13)):
        changed.write_bytes(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :])
        done = omptool("verify", changed)
        assert done.exit_code in (0, 1, 2), done.exception
    changed.write_bytes(data[: first["offset"] + first["stored_size"] // 2])
    assert omptool("dump", changed).exit_code in (0, 2)


def test_a_damaged_container_in_it_is_a_fault(both: Path, tmp_path: Path) -> None:
    """The version of the OffloadBinary, which begins within a byte."""
    path, data = tmp_path / "k.o", both.read_bytes()
    bits = int.from_bytes(data, "little")
    magic = int.from_bytes(b"\x10\xff\x10\xad\1\0\0\0", "little")
    first = dumped_images(both)[0]
    start = next(
        at
        for at in range(first["offset"] * 8, first["offset"] * 8 + 8)
        if bits >> at & ((1 << 64) - 1) == magic
    )
    bits ^= 1 << (start + 32)
    path.write_bytes(bits.to_bytes(len(data), "little"))
    done = omptool("verify", path)
    assert done.exit_code == 1
    assert "OMP111 error: OffloadBinary at 0x0 has version 0" in done.stdout


def test_a_wrapper_around_the_bitcode(both: Path, tmp_path: Path) -> None:
    path, data = tmp_path / "k.o", both.read_bytes()
    words = (0x0B17C0DE, 0, 20, len(data), 7)
    path.write_bytes(b"".join(word.to_bytes(4, "little") for word in words) + data)
    assert [image["triple"] for image in dumped_images(path)] == BOTH


def test_it_is_no_image_to_bundle(both: Path, tmp_path: Path) -> None:
    image = ["--image", f"{X86_64}={both}"]
    done = omptool("emit", *image, "-o", tmp_path / "out.o")
    fault = "is a host's object of bitcode (-flto): extract its images first"
    assert (done.exit_code, done.stderr) == (2, f"Error: {tmp_path}/out.o: image {both}: {fault}\n")
    assert omptool("extract", both, "--all", "-o", tmp_path).exit_code == 0
    (own,) = tmp_path.glob(f"*-{X86_64}.bc")
    assert omptool("emit", "--image", f"{X86_64}={own}", "-o", tmp_path / "out.o").exit_code == 0


def test_bundle_does_not_take_it(both: Path, tmp_path: Path) -> None:
    image = ["--image", f"{NVPTX}:sm_90={both}"]
    done = omptool("bundle", both, *image, "-o", tmp_path / "out.o")
    assert done.exit_code == 2
    assert "is LLVM bitcode; compile the host without -flto" in done.stderr


@pytest.mark.parametrize("version", [INSTALLED, "23"])
@pytest.mark.parametrize("lto", ["-flto", "-flto=thin"])
def test_a_plain_object_is_no_device_image(tmp_path: Path, version: str, lto: str) -> None:
    path = compiled(tmp_path, lto, version=version)
    assert omptool("dump", path).stdout == f"{path}: no offload code\n"
    verify = omptool("verify", path).stdout
    assert verify.startswith(f"{path}: no offload code\n")
    assert "OMP133 warning: at least 1 region was compiled for the host alone (" in verify


def test_a_device_image_for_a_cpu_stays_one(tmp_path: Path) -> None:
    """The image has kernels for a host, although it has a summary for a link as well."""
    host = compiled(tmp_path, f"-fopenmp-targets={X86_64}", "-foffload-lto")
    omptool("extract", host, "-o", tmp_path / "out")
    (image,) = (tmp_path / "out").iterdir()
    assert "device images without a host" in omptool("dump", image).stdout
