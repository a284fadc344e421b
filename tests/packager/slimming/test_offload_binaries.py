# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""OffloadBinaries of each version, in files of their own and in objects."""

from __future__ import annotations

from pathlib import Path

import pytest
import zstandard
from container_plans import planned
from containers import AMD, ARCHS, Containers
from documents import dumped_images
from toolchain import compile_c, omptool, run

from packager.files.reader import Reader
from packager.formats.containers import offload_binary
from packager.formats.containers.offload_binary import Item
from packager.slimming.file import slim_file
from packager.slimming.keeps import named
from packager.slimming.proof import prove
from packager.slimming.request import Request


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Containers:
    return Containers(tmp_path_factory.mktemp("containers"))


def joint(path: Path, version: int, images: dict[str, bytes], *, packed: bool = False) -> Path:
    """Write one OffloadBinary with an image for each architecture, or one for each."""
    groups = [images] if version > 1 else [{arch: data} for arch, data in images.items()]
    content = b""
    for group in groups:
        strings = [{"triple": AMD, "arch": arch} for arch in group]
        items = [Item(1, s, len(d)) for s, d in zip(strings, group.values(), strict=True)]
        head, padding = offload_binary.header(items, version)
        whole = head + b"".join(group.values()) + bytes(padding)
        if packed:
            stream = zstandard.compress(whole[40:])
            head = offload_binary.compressed_head(3, len(stream), len(whole), len(group))
            whole = head + stream
        content += whole + bytes(-len(whole) % 8)
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(("version", "packed"), [(1, False), (2, False), (3, False), (3, True)])
def test_one_image_of_three(tmp_path: Path, made: Containers, version: int, packed: bool) -> None:
    first, second = (path.read_bytes() for path in made.images)
    images = {"gfx90a": first, "gfx906": second, "gfx942": first[::-1]}
    path = joint(tmp_path / "k", version, images, packed=packed)
    plan, (new,) = planned(path, "gfx906")
    assert (plan.left_alone, plan.lacking) == ((), ())
    (blob,) = offload_binary.blobs(Reader(new))
    assert (blob.version, blob.compression) == (version, "zstd" if packed else None)
    assert blob.strings == {"triple": AMD, "arch": "gfx906"}
    assert blob.image.bytes() == second
    out = tmp_path / "out"
    out.write_bytes(new)
    assert not planned(out, "gfx906")[0].changes
    prove(path, out, named(["gfx906"]))


def test_images_of_llvms_packager(made: Containers) -> None:
    path = made.packed("packed", *made.images)
    _, (new,) = planned(path, "gfx906")
    out = path.with_name("out")
    out.write_bytes(new)
    run("clang-offload-packager-19", out, f"--image=file={out}.co,triple={AMD},arch=gfx906")
    assert out.with_name("out.co").read_bytes() == made.images[1].read_bytes()


def test_one_image_is_left(made: Containers) -> None:
    """Readers reject a section without images."""
    path = made.packed("packed", *made.images)
    plan, (new,) = planned(path, "sm_90")
    assert len(list(offload_binary.blobs(Reader(new)))) == 1
    assert plan.left_alone[0].reason == "no image of it would be left, and readers expect one"


def test_what_names_no_processor_stays(tmp_path: Path) -> None:
    path = joint(tmp_path / "k", 2, {"": b"one", "gfx942": b"two", "gfx90a": b"three"})
    plan, (new,) = planned(path, "gfx942")
    assert [blob.strings["arch"] for blob in offload_binary.blobs(Reader(new))] == ["", "gfx942"]
    assert plan.left_alone[0].reason == f"it is for '' of {AMD}, which is no processor"


def test_an_object(tmp_path: Path, made: Containers) -> None:
    """The object's section gets shorter, and clang's tools accept it."""
    packed = made.packed("packed", *made.images)
    plain = compile_c("int x;", tmp_path / "plain.o", "-c")
    path = tmp_path / "k.o"
    section = f".llvm.offloading={packed}"
    run("llvm-objcopy-19", f"--add-section={section}", plain, path)
    kind = ".llvm.offloading=0x6fff4c0b"
    run("llvm-objcopy-19", f"--set-section-type={kind}", path)
    done = slim_file(path, tmp_path / "out.o", "k.o", Request(named(["gfx906"])))
    assert done is not None
    assert done.after < done.before
    (image,) = dumped_images(tmp_path / "out.o")
    assert image["arch"] == ARCHS[1]
    assert omptool("verify", tmp_path / "out.o").exit_code == 0
    out = run("llvm-objdump-19", "--offloading", tmp_path / "out.o")
    assert "gfx906" in out
    assert "gfx90a" not in out
