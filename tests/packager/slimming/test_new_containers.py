# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""New bytes of one container: those of nvcc, of clang's bundlers, and generated ones."""

from __future__ import annotations

import hashlib
import struct
import zlib
from pathlib import Path

import cuda
import pytest
import zstandard
from container_plans import joined, planned
from containers import AMD, Containers
from documents import dumped_files
from fatbins import entry, fatbin, group
from host_bytes import bundle
from toolchain import run
from wrapped import wrapped

from packager.errors import FormatError
from packager.files.reader import Reader
from packager.formats.containers import cuda_fatbin
from packager.formats.containers.bundles import clang_bundle, compressed_bundle
from packager.slimming.containers.found import Left
from packager.slimming.file import slim_file
from packager.slimming.keeps import named
from packager.slimming.plan import plan, plan_open
from packager.slimming.request import Request

IDS = ("host-x86_64-unknown-linux--", f"hipv4-{AMD}--gfx90a", f"hipv4-{AMD}--gfx942:xnack-")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Containers:
    return Containers(tmp_path_factory.mktemp("containers"))


def slimmed(path: Path, keep: str, *, keep_ptx: bool = False) -> Path:
    """Return a file of the new containers of a file that is nothing else."""
    plan, new = planned(path, keep, keep_ptx=keep_ptx)
    assert plan.lacking == ()
    out = path.with_name(f"slim-{path.name}")
    out.write_bytes(joined(plan.rewrites, new))
    assert not planned(out, keep, keep_ptx=keep_ptx)[0].changes
    return out


def hashes(path: Path) -> dict[str, str]:
    """Return the images of a file: kind and architecture of each, by its hash."""
    (file,) = dumped_files("--hash", path)
    return {i["sha256"]: f"{i['kind']} {i['arch']}" for i in file["images"]}


@pytest.mark.slow
@pytest.mark.parametrize(
    "flag", ["--compress-mode=none", "--compress-mode=speed", "--compress-mode=size", "-G"]
)
def test_fat_binaries_of_nvcc(tmp_path: Path, flag: str) -> None:
    """Plain, LZ4 and zstd; NVIDIA's own tool finds the same cubins."""
    ptx = ("-gencode=arch=compute_90,code=compute_90",)
    options = (flag, *cuda.code_for("sm_80", "sm_90", "sm_100a"), *ptx, "-fatbin")
    path = cuda.compiled(tmp_path / "k.cu", tmp_path / "k.fatbin", *options)
    before = hashes(path)
    for keep, left in (
        ("sm_80,sm_100", ["cubin sm_80", "cubin sm_100a"]),
        ("sm_90a", ["cubin sm_90"]),
        ("sm_86,sm_120", ["cubin sm_80", "ptx sm_90"]),
    ):
        out = slimmed(path, keep)
        assert hashes(out) == {sha: name for sha, name in before.items() if name in left}
        cubins = {sha for sha, name in before.items() if name in left and name[0] == "c"}
        assert cuda.extracted(out, tmp_path / keep).keys() == cubins
    assert sorted(hashes(slimmed(path, "sm_90", keep_ptx=True)).values()) == [
        "cubin sm_90",
        "ptx sm_90",
    ]


@pytest.mark.slow
def test_code_for_one_architecture_alone_serves_no_other(tmp_path: Path) -> None:
    """The headers of a fat binary may lack the suffix that the cubin has."""
    ptx = ("-gencode=arch=compute_90,code=compute_90",)
    options = (*cuda.code_for("sm_100a"), *ptx, "-fatbin")
    path = cuda.compiled(tmp_path / "k.cu", tmp_path / "k.fatbin", *options)
    data = bytearray(path.read_bytes())
    fatbin = cuda_fatbin.whole(Reader(bytes(data)))
    (first,) = [one for one in cuda_fatbin.entries(fatbin.body) if one.arch == "sm_100a"]
    flags = first.data.at + cuda_fatbin.TAIL_AT
    plain = first.flags & ~(cuda_fatbin.ARCH_SPECIFIC | 0x1000000)
    struct.pack_into("<Q", data, flags, plain)
    path.write_bytes(data)
    assert set(hashes(slimmed(path, "sm_103")).values()) == {"ptx sm_90"}


@pytest.mark.slow
def test_images_that_are_compressed_as_one(tmp_path: Path) -> None:
    """Nvcc makes a group of each class of processors."""
    options = ("--concat", *cuda.code_for("sm_80", "sm_90", "sm_100"), "-fatbin")
    path = cuda.compiled(tmp_path / "k.cu", tmp_path / "k.fatbin", *options)
    plan, _ = planned(path, "sm_90")
    assert [share.target for share in plan.kept] == ["sm_80", "sm_90"]
    (left,) = plan.left_alone
    assert left.reason == "code that stays is compressed together with other code"
    plan, new = planned(path, "gfx90a")
    assert (plan.kept, [len(one) for one in new]) == ((), [16])


@pytest.mark.slow
@pytest.mark.parametrize("flag", ["-c", "-dc"])
def test_objects_of_nvcc(tmp_path: Path, flag: str) -> None:
    """Relocatable device code, in a section of its own, is included."""
    options = (flag, *cuda.code_for("sm_80", "sm_90"))
    path = cuda.compiled(tmp_path / "k.cu", tmp_path / "k.o", *options)
    out = tmp_path / "out.o"
    done = slim_file(path, out, "k.o", Request(named(["sm_90"])))
    assert done is not None
    assert done.after < done.before
    before = cuda.extracted(path, tmp_path / "before")
    wanted = {sha for sha, name in before.items() if ".sm_90." in name}
    assert cuda.extracted(out, tmp_path / "after").keys() == wanted
    assert set(hashes(out).values()) == {"cubin sm_90"}


def test_nothing_stays_but_the_header(tmp_path: Path) -> None:
    path = tmp_path / "k.fatbin"
    path.write_bytes(fatbin(entry(2, bytes(100)), group((2, 90, bytes(64)))))
    plan, (new,) = planned(path, "gfx90a")
    assert new == cuda_fatbin.HEADER.pack(cuda_fatbin.MAGIC, 1, 16, 0)
    assert sum(share.images for share in plan.removed) == 2
    path.write_bytes(new)
    assert not planned(path, "gfx90a")[0].changes


def test_entries_of_other_kinds_stay_and_are_named(tmp_path: Path) -> None:
    path = tmp_path / "k.fatbin"
    path.write_bytes(fatbin(entry(2, bytes(99)), entry(8, bytes(99)), entry(0x40, bytes(99))))
    plan, (new,) = planned(path, "sm_80")
    kept = list(cuda_fatbin.entries(cuda_fatbin.whole(Reader(new)).body))
    assert [one.kind for one in kept] == [8, 0x40]
    assert [left.reason for left in plan.left_alone] == [
        "it is NVVM code for a linker",
        "it has the unknown kind 0x40",
    ]
    assert plan.lacking == ("there is no code for sm_80, but for bitcode sm_90, sm_90",)


def test_fat_binaries_end_to_end(tmp_path: Path) -> None:
    path = tmp_path / "k.fatbin"
    one = fatbin(entry(2, bytes(99)), entry(1, b".version 8.0"))
    path.write_bytes(one + bytes(-len(one) % 8) + one + bytes(24))
    plan, new = planned(path, "sm_90")
    assert [one.size for one in plan.rewrites] == [len(one) + -len(one) % 8, len(one) + 24]
    assert new[0] == new[1] == fatbin(entry(2, bytes(99)))


def test_a_device_that_some_containers_have_no_code_for(tmp_path: Path) -> None:
    """Libraries have kernels for one architecture alone: that is no reason to refuse."""
    path = tmp_path / "k.fatbin"
    path.write_bytes(fatbin(entry(2, bytes(64))) + fatbin(group((2, 80, bytes(64)))))
    plan, _ = planned(path, "sm_80")
    assert plan.lacking == ()
    assert plan.partly == (
        "sm_80 has no code in 1 of 2 containers, the first at 0x0, which have code for sm_90",
    )


@pytest.mark.parametrize("alignment", [4096, 1])
def test_a_plain_bundle(tmp_path: Path, made: Containers, alignment: int) -> None:
    images = [path.read_bytes() for path in made.images]
    contents = dict(zip(IDS, [b"", *images], strict=True))
    path = tmp_path / "k.hipfb"
    path.write_bytes(aligned(contents, alignment))
    out = slimmed(path, "gfx942")
    rows = list(clang_bundle.rows(Reader(out.read_bytes())))
    assert [row.id.decode() for row in rows] == [IDS[0], IDS[2]]
    assert rows[1].offset % alignment == 0
    assert out.read_bytes()[rows[1].offset :] == images[1]
    assert len(planned(path, "gfx942,gfx90a")[1][0]) == path.stat().st_size


def aligned(contents: dict[str, bytes], alignment: int) -> bytes:
    """Return a bundle whose images are aligned, as the bundler's -bundle-align makes it."""
    rows = [clang_bundle.Row(name.encode(), 0, len(data)) for name, data in contents.items()]
    at, body, placed = len(clang_bundle.table(rows)), b"", []
    for row, data in zip(rows, contents.values(), strict=True):
        padding = -(at + len(body)) % alignment
        body += bytes(padding) + data
        placed.append(row._replace(offset=at + len(body) - len(data)))
    return clang_bundle.table(placed) + body


def packed(plain: bytes, version: int, method: int) -> bytes:
    """Return a compressed bundle."""
    compress = zstandard.compress if compressed_bundle.METHODS[method] == "zstd" else zlib.compress
    stream = compress(plain)
    checksum = hashlib.md5(plain, usedforsecurity=False).digest()[:8]
    return compressed_bundle.header(version, method, len(stream), len(plain), checksum) + stream


@pytest.mark.parametrize("method", compressed_bundle.METHODS)
@pytest.mark.parametrize("version", [1, 2, 3])
def test_compressed_bundles(tmp_path: Path, made: Containers, version: int, method: int) -> None:
    """Inflated, rebuilt and compressed again, with sizes and checksum of the new bundle."""
    images = [path.read_bytes() + bytes(range(256)) for path in made.images]
    plain = aligned(dict(zip(IDS, [b"", *images], strict=True)), 4096)
    path = tmp_path / "k.hipfb"
    path.write_bytes(packed(plain, version, method))
    out = slimmed(path, "gfx942:xnack-")
    data = Reader(out.read_bytes())
    assert data.unpack(compressed_bundle.HEAD, 0, "") == (b"CCOB", version, method)
    total, name, inside = compressed_bundle.head(data)
    assert total == len(data)
    new = compressed_bundle.inflated(data, inside, name)  # checks the checksum
    host, row = clang_bundle.rows(new)
    assert (host.id.decode(), row.id.decode(), row.offset) == (IDS[0], IDS[2], 4096)
    assert new.bytes(4096) == images[1]


def test_a_bundle_by_clangs_bundler(made: Containers, tmp_path: Path) -> None:
    """LLVM's own tool unpacks the result."""
    path = made.bundle("packed.hipfb", *made.images, packed=True)
    out = slimmed(path, "gfx906")
    run(
        "clang-offload-bundler-19", "-type=bc", "-unbundle", f"-targets=hip-{AMD}--gfx906",
        f"-input={out}", f"-output={tmp_path / 'image'}",
    )  # fmt: skip
    assert (tmp_path / "image").read_bytes() == made.images[1].read_bytes()


def test_targets_that_are_unknown_stay(tmp_path: Path) -> None:
    ids = ("hip-amdgcn-amd-amdhsa", "hip-tpu9-google-linux--v5", *IDS[1:])
    path = tmp_path / "k.hipfb"
    path.write_bytes(bundle(dict.fromkeys(ids, b"\x7fELF")))
    plan, (new,) = planned(path, "gfx90a")
    assert [row.id.decode() for row in clang_bundle.rows(Reader(new))] == list(ids[:3])
    assert [left.reason for left in plan.left_alone] == [
        "its target hip-amdgcn-amd-amdhsa names no processor",
        "its target hip-tpu9-google-linux--v5 is unknown",
    ]


@pytest.mark.parametrize("setting", ["+xnack", "+sram-ecc-xnack"])
def test_settings_of_older_tools_stay(tmp_path: Path, setting: str) -> None:
    path = tmp_path / "bundle"
    ids = (f"hip-{AMD}-gfx906{setting}", f"hipv4-{AMD}--gfx906", f"hipv4-{AMD}--gfx900")
    path.write_bytes(bundle(dict.fromkeys(ids, b"\x7fELF")))
    found = plan(path, named(["gfx906"]))
    assert [share.target for share in found.removed] == ["gfx900"]
    assert [one.reason for one in found.left_alone] == [
        f"its target {ids[0]} names a processor in an unknown form"
    ]


def test_images_that_overlap_stay(tmp_path: Path) -> None:
    rows = [clang_bundle.Row(name.encode(), 4096 + 8 * n, 64) for n, name in enumerate(IDS[1:])]
    path = tmp_path / "k.hipfb"
    path.write_bytes(clang_bundle.table(rows).ljust(4096 + 72, b"\1"))
    plan, _ = planned(path, "gfx90a")
    assert (plan.changes, plan.left_alone[0].reason) == (False, "its images overlap")


@pytest.mark.parametrize("kind", ["cuda", "hip"])
def test_containers_of_a_library(tmp_path: Path, made: Containers, kind: str) -> None:
    """Each wrapper's; what no wrapper refers to is left alone."""
    if kind == "cuda":
        (tmp_path / "k").write_bytes(fatbin(entry(2, bytes(99)), entry(1, b".version 8.0")))
        second = tmp_path / "k"
    else:
        second = made.bundle("packed", *made.images, packed=True)
    twice = made.joined("twice", second, second)
    first = wrapped(tmp_path, kind, twice, "first.o")
    other = wrapped(tmp_path, kind, second, "second.o")
    run("gcc", "-shared", first, other, "-o", tmp_path / "lib.so")
    found, new = planned(tmp_path / "lib.so", "sm_90" if kind == "cuda" else "gfx906")
    assert len(new) == 2
    assert [share.images for share in found.kept] == [2]
    (left,) = found.left_alone
    assert left.what.endswith("fatbin")
    assert left.reason == "no wrapper refers to it, so a loader of the library's own may"


def test_other_files(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("no device code")
    assert planned(path, "sm_90") == (planned(path, "gfx90a")[0], [])
    with pytest.raises(FormatError, match="No such file"):
        plan(tmp_path / "none", named(["sm_90"]))


def test_damage_is_left_alone() -> None:
    """A container whose end is known stays as it is; the rest of a file does."""
    good = fatbin(entry(2, bytes(99)))
    bad = bytearray(fatbin(entry(2, bytes(99))))
    struct.pack_into("<I", bad, 16 + 4, 8)
    data = bytes(bad + good + good[:40])
    found = plan_open(Reader(data), named(["gfx90a"]))
    assert [one.pieces[0].size for one in found.rewrites] == [len(bad), 16]
    assert found.left_alone[0].reason.startswith("CUDA fatbin at ")
    assert found.left_alone[1] == Left(
        "container at 0x0", "fatbin entry at 0x10: header size 8 is too small"
    )
