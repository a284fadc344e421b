# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bundles of clang-offload-bundler, compressed or not, in files, objects and archives."""

from __future__ import annotations

import re
import struct
import zlib
from hashlib import md5
from pathlib import Path

import pytest
from documents import dumped, dumped_images
from toolchain import compile_c, omptool, run

from packager.errors import FormatError
from packager.files.reader import Reader
from packager.formats.containers import archive
from packager.formats.containers.bundles import clang_bundle, compressed_bundle

AMD = "amdgcn-amd-amdhsa"
KERNEL = f"""
target triple = "{AMD}"
define amdgpu_kernel void @first(ptr addrspace(1) %p) {{
  store i32 1, ptr addrspace(1) %p
  ret void
}}
"""
HOST_ID = "host-x86_64-unknown-linux--"
IDS = [f"hipv4-{AMD}--{arch}" for arch in ("gfx90a", "gfx906:xnack-")]


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide code objects for two processors, and every kind of bundle of them."""
    folder = tmp_path_factory.mktemp("bundles")
    (folder / "k.ll").write_text(KERNEL)
    for name, options in {"a": ["-mcpu=gfx90a"], "b": ["-mcpu=gfx906", "-mattr=-xnack"]}.items():
        run("llc-19", *options, "-filetype=obj", folder / "k.ll", "-o", folder / f"{name}.o")
        run("ld.lld-19", "-shared", folder / f"{name}.o", "-o", folder / f"{name}.co")
    compile_c("int main(void) { return 0; }", folder / "host.o", "-c")
    inputs = [f"-input={folder / name}" for name in ("a.co", "b.co")]
    targets = f"-targets={','.join([HOST_ID, *IDS])}"
    bundler = ("clang-offload-bundler-19", targets)
    run(
        *bundler,
        "-type=bc",
        "-bundle-align=4096",
        "-input=/dev/null",
        *inputs,
        f"-output={folder / 'plain'}",
    )
    run(
        *bundler,
        "-type=bc",
        "-compress",
        "-input=/dev/null",
        *inputs,
        f"-output={folder / 'packed'}",
    )
    run(*bundler, "-type=o", f"-input={folder / 'host.o'}", *inputs, f"-output={folder / 'fat.o'}")
    run(*bundler, "-type=ll", *[f"-input={folder / 'k.ll'}"] * 3, f"-output={folder / 'text.ll'}")
    return folder


@pytest.mark.parametrize("name", ["plain", "packed", "fat.o"])
def test_the_images_are_those_that_were_bundled(work: Path, name: str) -> None:
    found = dumped_images(work / name)
    assert [(i["triple"], i["arch"], i["kind"]) for i in found] == [
        (AMD, "gfx90a", "amdgcn"),
        (AMD, "gfx906:xnack-", "amdgcn"),
    ]
    sizes = [(work / co).stat().st_size for co in ("a.co", "b.co")]
    assert [i["size"] for i in found] == sizes
    assert all(i["compression"] == ("zstd" if name == "packed" else None) for i in found)
    assert all("first" in i["kernels"] for i in found)


def test_a_text_bundle_holds_the_texts(work: Path) -> None:
    payloads = list(clang_bundle.parse_text(Reader((work / "text.ll").read_bytes())))
    assert [(p.triple, p.arch) for p in payloads] == [(AMD, "gfx90a"), (AMD, "gfx906:xnack-")]
    assert all(p.image.bytes() == KERNEL.encode() for p in payloads)
    assert [i["kind"] for i in dumped_images(work / "text.ll")] == ["unknown", "unknown"]


def test_bundles_follow_each_other(work: Path, tmp_path: Path) -> None:
    for name in ("plain", "packed"):
        data = (work / name).read_bytes()
        twice = tmp_path / name
        twice.write_bytes(data + bytes(-len(data) % 4096) + data)
        assert len(dumped_images(twice)) == 4


@pytest.mark.parametrize("name", ["plain", "packed"])
def test_the_section_of_hip_programs(work: Path, tmp_path: Path, name: str) -> None:
    source = (
        '__asm__(".pushsection .hip_fatbin,\\"a\\"; .balign 4096;'
        f' .incbin \\"{work / name}\\"; .popsection");\n'
        "int main(void) { return 0; }"
    )
    found = dumped_images(compile_c(source, tmp_path / "program"))
    assert [i["arch"] for i in found] == ["gfx90a", "gfx906:xnack-"]
    assert all(i["container"] == "hip-fatbin" for i in found)


@pytest.mark.parametrize(
    ("target", "parts"),
    [
        (IDS[0], ("hipv4", AMD, "gfx90a")),
        ("hip-amdgcn-amd-amdhsa-gfx906:sramecc+:xnack-", ("hip", AMD, "gfx906:sramecc+:xnack-")),
        ("hipv4-amdgcn-amd-amdhsa--gfx9-4-generic", ("hipv4", AMD, "gfx9-4-generic")),
        ("openmp-nvptx64-nvidia-cuda--sm_70", ("openmp", "nvptx64-nvidia-cuda", "sm_70")),
        (
            "openmp-nvptx64-nvidia-cuda-unknown-sm_90",
            ("openmp", "nvptx64-nvidia-cuda-unknown", "sm_90"),
        ),
        ("openmp-x86_64-pc-linux-gnu", ("openmp", "x86_64-pc-linux-gnu", "")),
        ("openmp-x86_64-pc-linux-gnu-", ("openmp", "x86_64-pc-linux-gnu", "")),
        ("openmp-nvptx64-nvidia-cuda--sm_121-", ("openmp", "nvptx64-nvidia-cuda", "sm_121")),
        ("host-x86_64-unknown-linux", ("host", "x86_64-unknown-linux", "")),
        ("openmp", ("openmp", "", "")),
    ],
)
def test_ids(target: str, parts: tuple[str, str, str]) -> None:
    assert clang_bundle.split_id(target) == parts


@pytest.mark.parametrize(
    ("at", "patch", "message"),
    [
        pytest.param(24, b"\xff\xff", "claims 65535 targets", id="count"),
        pytest.param(32, b"\xff" * 8, "runs past the end", id="offset"),
        pytest.param(40, b"\xff\xff\xff", "runs past the end", id="size"),
        pytest.param(48, b"\xff\xff", "claims 65535 bytes", id="id"),
        pytest.param(0, b"x", "bundle at 0x0 has no magic", id="magic"),
    ],
)
def test_one_wrong_field_of_a_bundle(work: Path, at: int, patch: bytes, message: str) -> None:
    wrong = bytearray((work / "plain").read_bytes())
    wrong[at : at + len(patch)] = patch
    with pytest.raises(FormatError, match=re.escape(message)):
        list(clang_bundle.parse(Reader(wrong)))


@pytest.mark.parametrize(
    ("at", "patch", "message"),
    [
        pytest.param(4, b"\0", "has version 0; versions 1 to 3 are read", id="version"),
        pytest.param(6, b"\x05", "has the unknown compression method 5", id="method"),
        pytest.param(8, b"\xff\xff\xff\x7f", "runs past the end", id="file-size"),
        pytest.param(8, b"\1\0\0\0", "size 1 is smaller than its header", id="file-size-small"),
        pytest.param(12, b"\1\0\0\0", "inflates to more than the 1 bytes", id="inflated"),
        pytest.param(12, b"\xff\xff\x0f\x00", "not to the 1048575", id="inflated-more"),
        pytest.param(12, b"\xff\xff\xff\x00", "the limit is 300 times as many", id="ratio"),
        pytest.param(12, b"\xff\xff\xff\xff", "the limit is 1073741824", id="inflated-huge"),
        pytest.param(16, b"\0", "does not have the checksum", id="checksum"),
        pytest.param(6, b"\0", "is not a zlib stream", id="other-method"),
    ],
)
def test_one_wrong_field_of_a_compressed_one(
    work: Path, at: int, patch: bytes, message: str
) -> None:
    wrong = bytearray((work / "packed").read_bytes())
    wrong[at : at + len(patch)] = patch
    with pytest.raises(FormatError, match=re.escape(message)):
        list(compressed_bundle.parse(Reader(wrong)))


@pytest.mark.parametrize("version", [1, 2, 3])
def test_every_version_of_the_compressed_header(work: Path, version: int) -> None:
    """Bundles of releases that are not installed are written by hand."""
    plain = (work / "plain").read_bytes()
    packed, check = zlib.compress(plain), md5(plain).digest()[:8]
    sizes = {1: "<I8s", 2: "<II8s", 3: "<QQ8s"}[version]
    total = 8 + struct.calcsize(sizes) + len(packed)
    values = (len(plain), check) if version == 1 else (total, len(plain), check)
    data = struct.pack("<4sHH", b"CCOB", version, 0) + struct.pack(sizes, *values) + packed
    found = list(compressed_bundle.parse(Reader(data)))
    assert [p.arch for p in found] == ["gfx90a", "gfx906:xnack-"]
    assert found[0].compression == "zlib"


@pytest.mark.parametrize("flags", ["rcs", "rcsT"])
def test_archives_name_their_members(work: Path, tmp_path: Path, flags: str) -> None:
    long = tmp_path / ("a_member_with_a_name_that_is_long" + ".o")
    long.write_bytes((work / "fat.o").read_bytes())
    path = tmp_path / "lib.a"
    run("ar", flags, path, long, work / "host.o")
    file = dumped(path)
    name = str(long) if "T" in flags else long.name  # a thin archive has the paths it was given
    assert file["path"] == f"{path}({name})"
    assert [i["member"] for i in file["images"]] == [name] * 2
    assert [i["arch"] for i in file["images"]] == ["gfx90a", "gfx906:xnack-"]


def test_an_archive_without_offload_code(work: Path, tmp_path: Path) -> None:
    path = tmp_path / "lib.a"
    run("ar", "rcs", path, work / "host.o")
    result = omptool("dump", path)
    assert (result.exit_code, result.stdout) == (0, f"{path}: no offload code\n")


@pytest.mark.parametrize(
    ("at", "patch", "message"),
    [
        pytest.param(8 + 58, b"xx", "does not end as it must", id="end"),
        pytest.param(8 + 48, b"abc", "is not a number", id="size"),
        pytest.param(8 + 48, b"9999999999", "runs past the end", id="size-huge"),
    ],
)
def test_one_wrong_field_of_an_archive(
    work: Path, tmp_path: Path, at: int, patch: bytes, message: str
) -> None:
    path = tmp_path / "lib.a"
    run("ar", "rcs", path, work / "fat.o")
    wrong = bytearray(path.read_bytes())
    wrong[at : at + len(patch)] = patch
    with pytest.raises(FormatError, match=re.escape(message)):
        list(archive.members(Reader(wrong)))


def test_a_thin_archive_whose_member_is_gone(work: Path, tmp_path: Path) -> None:
    member = tmp_path / "gone.o"
    member.write_bytes((work / "fat.o").read_bytes())
    path = tmp_path / "thin.a"
    run("ar", "rcsT", path, member)
    member.unlink()
    result = omptool("dump", path)
    assert result.exit_code == 2
    assert f"member {member}: No such file or directory" in result.stderr
