# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Containers in containers and archives in archives, as the real tools make them."""

from __future__ import annotations

import re
import shutil
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from containers import AMD, Containers
from documents import document
from places import DATA
from toolchain import OPENMP, PTX, clang_offload, omptool, run

KINDS = ("clang-bundle", "compressed-bundle", "offload-binary", "joint", "archive")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Containers:
    return Containers(tmp_path_factory.mktemp("nested"))


def around(made: Containers, kind: str, name: str, *inputs: Path) -> Path:
    """Wrap files in a container of a kind."""
    if kind == "archive":
        return made.archive(name, *inputs)
    if kind == "offload-binary":
        return made.packed(name, *inputs)
    if kind == "joint":  # one OffloadBinary, as LLVM 23 writes it
        return made.joint(name, *inputs)
    return made.bundle(name, *inputs, packed=kind == "compressed-bundle")


def files(path: Path, exit_code: int = 0) -> list[dict[str, Any]]:
    result = omptool("dump", "--json", path)
    assert result.exit_code == exit_code, result.output
    return list(document("dump", result.stdout)["files"])


def images(path: Path, exit_code: int = 0) -> list[dict[str, Any]]:
    return [image for file in files(path, exit_code) for image in file["images"]]


@pytest.mark.parametrize(("outer", "inner"), list(product(KINDS[:3], KINDS)))
def test_a_container_in_another(made: Containers, outer: str, inner: str) -> None:
    content = around(made, inner, f"{inner}-in-{outer}", *made.images)
    found = images(around(made, outer, f"{outer}-of-{inner}", content))
    where = ["offload-binary" if inner == "joint" else inner] * 2
    if inner == "archive":
        where = ["archive(gfx90a.co)", "archive(gfx906.co)"]
    assert [image["within"] for image in found] == [[name] for name in where]
    assert {image["container"] for image in found} == {outer}
    assert [(image["kind"], image["kernels"]) for image in found] == [("amdgcn", ["first"])] * 2
    assert [image["arch"].split(":")[0] for image in found] == ["gfx90a", "gfx906"]
    assert {image["triple"] for image in found} == {f"{AMD}"}


def test_an_image_of_a_nested_container_comes_out(made: Containers, tmp_path: Path) -> None:
    inner = made.bundle("inner.ccob", *made.images, packed=True)
    path = made.packed("outer.bin", inner)
    assert omptool("extract", "--all", path, "-o", tmp_path).exit_code == 0
    written = sorted(file.read_bytes() for file in tmp_path.iterdir())
    assert written == sorted(image.read_bytes() for image in made.images)


def test_cuda_fatbins_in_an_offload_binary(made: Containers) -> None:
    """Clang packs CUDA code so if it is linked with OpenMP's."""
    fatbin = made.copy("cuda.fatbin", DATA / "none.fatbin")
    found = images(made.packed("cuda.packed", fatbin))
    assert [image["arch"] for image in found] == ["sm_80", "sm_90a", "sm_90"]
    assert {tuple(image["within"]) for image in found} == {("cuda-fatbin",)}


def test_the_text_shows_what_an_image_is_in(made: Containers) -> None:
    inner = made.bundle("shown.bundle", *made.images)
    path = made.packed("shown.packed", inner)
    result = omptool("dump", "--images", path)
    assert "offload-binary/clang-bundle" in result.stdout
    (row,) = result.stdout.partition("containers in containers:\n")[2].splitlines()[2:]
    assert row.split()[0] == "clang-bundle"
    assert row.endswith(" 0-1")
    ((level,),) = {tuple(map(str, image["levels"])) for image in images(path)}
    assert path.read_bytes()[images(path)[0]["levels"][0]["offset"] :].startswith(
        inner.read_bytes()
    )
    assert f"'size': {inner.stat().st_size}" in level


def test_levels_in_compressed_bytes_have_no_offset(made: Containers) -> None:
    inner = made.bundle("deep.bundle", *made.images)
    path = made.packed("deep.packed", made.bundle("deep.ccob", inner, packed=True))
    (image, *_) = images(path)
    found = [(level["container"], level["offset"] is None) for level in image["levels"]]
    assert found == [("compressed-bundle", False), ("clang-bundle", True)]


def test_how_deep_containers_are_read(made: Containers) -> None:
    path, depth = made.images[0], 4
    for level in range(depth):
        path = made.packed(f"level{level}", path)
    assert images(path)[0]["within"] == ["offload-binary"] * (depth - 1)
    beyond = made.packed("beyond", path)
    result = omptool("dump", beyond)
    assert result.exit_code == 2
    assert "containers are nested more than 4 deep" in result.stderr


def test_what_is_too_deep_is_a_finding_beside_what_is_not(made: Containers) -> None:
    path = made.images[0]
    for level in range(5):
        path = made.packed(f"deep{level}", path)
    mixed = made.joined("mixed", made.packed("flat", made.images[0]), path)
    result = omptool("verify", mixed)
    assert result.exit_code == 1
    assert "OMP111 error" in result.stdout
    assert "nested more than 4 deep" in result.stdout
    assert len(images(mixed, 2)) == 1


def test_a_malformed_container_in_another(made: Containers) -> None:
    inner = made.bundle("damaged.bundle", *made.images)
    data = bytearray(inner.read_bytes())
    data[24:26] = b"\xff\xff"
    inner.write_bytes(data)
    result = omptool("verify", made.packed("damaged.packed", inner, made.images[1]))
    assert result.exit_code == 1
    assert "OMP111 error: clang-bundle in a container: bundle at" in result.stdout


class Library:
    """Objects of clang's, and archives of them in every way."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        clang_offload(OPENMP, folder / "k.o", "-c")
        shutil.copyfile(folder / "k.o", folder / "an_object_with_a_long_name.o")
        names = ("k.o", "an_object_with_a_long_name.o")
        run("ar", "rcs", folder / "inner.a", *(folder / name for name in names))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    return Library(tmp_path_factory.mktemp("archives"))


@pytest.mark.parametrize(
    ("command", "name"),
    [
        pytest.param(("ar", "rc"), "plain.a", id="plain"),
        pytest.param(("ar", "rcT"), "flat.a", id="thin-of-members"),
        pytest.param(("llvm-ar-19", "rc", "--thin"), "thin.a", id="thin"),
    ],
)
def test_an_archive_in_an_archive(library: Library, command: tuple[str, ...], name: str) -> None:
    """binutils' thin archive of an archive names its members, LLVM's the archive."""
    run("env", "-C", library.folder, *command, name, "inner.a")
    found = files(library.folder / name)
    members = ["inner.a(k.o)", "inner.a(an_object_with_a_long_name.o)"]
    assert [file["path"] for file in found] == [f"{library.folder / name}({m})" for m in members]
    assert [file["images"][0]["member"] for file in found] == members
    assert [len(file["entries"]) for file in found] == [3, 3]
    # Kernels of one source file have the same name and code.
    assert omptool("verify", library.folder / name).exit_code == 0


def test_long_names_that_end_with_nul(library: Library) -> None:
    """lib.exe writes such names."""
    names = ["k.o", "an_object_with_a_long_name.o"]
    run("env", "-C", library.folder, "llvm-ar-19", "--format=coff", "rc", "coff.a", *names)
    path = library.folder / "coff.a"
    assert [file["path"] for file in files(path)] == [f"{path}({name})" for name in names]


def test_archives_too_deep_are_a_finding(library: Library) -> None:
    path = library.folder / "inner.a"
    for level in range(4):
        outer = library.folder / f"level{level}.a"
        run("ar", "rc", outer, path)
        path = outer
    mixed = library.folder / "mixed.a"
    run("ar", "rc", mixed, path, library.folder / "k.o")
    result = omptool("verify", mixed)
    assert result.exit_code == 1
    assert "OMP111 error: archives are nested more than 4 deep" in result.stdout
    assert [file["path"] for file in files(mixed, 2) if file["images"]] == [f"{mixed}(k.o)"]


def test_a_thin_archive_whose_archive_has_gone(library: Library, tmp_path: Path) -> None:
    shutil.copyfile(library.folder / "inner.a", tmp_path / "inner.a")
    run("env", "-C", tmp_path, "ar", "rcT", "flat.a", "inner.a")
    (tmp_path / "inner.a").write_bytes(b"no archive")
    result = omptool("dump", tmp_path / "flat.a")
    assert result.exit_code == 2
    assert "member inner.a: is not the archive that it should be" in result.stderr


def test_a_member_that_is_damaged_beside_one_that_is_not(library: Library) -> None:
    data = (library.folder / "k.o").read_bytes()
    (library.folder / "cut.o").write_bytes(data[: len(data) // 2])
    path = library.folder / "damaged.a"
    run("llvm-ar-19", "rcS", path, library.folder / "cut.o", library.folder / "k.o")
    result = omptool("verify", path)
    assert result.exit_code == 1
    assert f"{path}(cut.o): OMP111 error: ELF section header" in result.stdout
    assert f"{path}(k.o): OMP101 info" in result.stdout


@pytest.mark.parametrize("command", [("ar", "rc"), ("ar", "rcT"), ("llvm-ar-19", "rc", "--thin")])
def test_where_the_images_of_members_are(
    library: Library, tmp_path: Path, command: tuple[str, ...]
) -> None:
    """Offsets refer to the file that holds the bytes, which a thin archive is not."""
    shutil.copyfile(library.folder / "inner.a", tmp_path / "inner.a")
    run("env", "-C", tmp_path, *command, "outer.a", "inner.a")
    result = omptool("dump", "--json", "--hash", tmp_path / "outer.a")
    found = [image for file in document("dump", result.stdout)["files"] for image in file["images"]]
    assert len(found) == 2
    for image in found:
        where = re.fullmatch(r"file://(.*)#offset=(\d+)&size=(\d+)", image["uri"])
        assert where
        offset, size = int(where[2]), int(where[3])
        data = Path(where[1]).read_bytes()[offset : offset + size]
        assert sha256(data).hexdigest() == image["sha256"]


def test_device_images_in_an_archive(made: Containers, tmp_path: Path) -> None:
    """An image that names a GPU is listed, bitcode for the host is not."""
    (tmp_path / "one.o").write_text(PTX)
    (tmp_path / "host.ll").write_text('target triple = "x86_64-pc-linux-gnu"\n')
    run("llvm-as-19", tmp_path / "host.ll", "-o", tmp_path / "host.bc")
    (tmp_path / "read.me").write_text("no code\n")
    members = (tmp_path / "one.o", made.folder / "k.bc", tmp_path / "host.bc", tmp_path / "read.me")
    archive = made.archive("images.a", *members)
    found = files(archive)
    assert [file["path"] for file in found] == [f"{archive}(one.o)", f"{archive}(k.bc)"]
    assert [file["images"][0]["kind"] for file in found] == ["ptx", "bitcode"]


def test_a_library_of_gcc_for_the_device() -> None:
    """Debian's libgcc.a has PTX as members."""
    (library,) = Path("/usr/lib/gcc/x86_64-linux-gnu").glob("*/accel/nvptx-none/libgcc.a")
    found = files(library)
    assert len(found) == len(run("ar", "t", library).splitlines())
    assert {image["kind"] for file in found for image in file["images"]} == {"ptx"}
    assert omptool("verify", "--ignore", "OMP116", library).exit_code == 0
