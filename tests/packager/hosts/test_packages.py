# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Wheels and Debian's packages: each file in them is read as it is when it is unpacked."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from machine import lacks
from packed import (
    MAKERS,
    PTX,
    Make,
    debian,
    deflated_wheel,
    images,
    of_files,
    stored_wheel,
    zipped,
)
from places import DATA
from target import check
from toolchain import (
    HOST,
    MAIN,
    X86_64,
    bundled,
    compile_c,
    device_image,
    fake_runtime,
    linked,
    omptool,
    run,
)

from packager.formats.compressed import inflate

LIBRARY = "kernels/lib/libkernels.so"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the files to pack: a library with an image, an archive, a fat binary, PTX, others."""
    folder = tmp_path_factory.mktemp("tree")
    work = tmp_path_factory.mktemp("made")
    host = compile_c(HOST + MAIN, work / "host.o", "-c", "-fPIC")
    out = bundled(host, work / "k.o", {X86_64: device_image(HOST, work / "image.so")})
    (folder / "kernels" / "lib").mkdir(parents=True)
    linked([out], folder / LIBRARY, "-shared", runtime=fake_runtime(work))
    run("ar", "rcs", folder / "kernels" / "libk.a", out)
    for name in ("zstd.fatbin", "driver.ptx"):
        shutil.copy(DATA / name, folder / "kernels" / name)
    (folder / "kernels" / "__init__.py").write_text('"""Kernels."""\n' * 1000)
    (folder / "kernels" / "empty.so").touch()
    (folder / "kernels" / "link.so").symlink_to("lib/libkernels.so")
    return folder


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_each_file_is_read_as_it_is_unpacked(tree: Path, tmp_path: Path, make: Make) -> None:
    package = make(tree, tmp_path)
    names = (LIBRARY, "kernels/libk.a", "kernels/zstd.fatbin", "kernels/driver.ptx")
    unpacked = images(tree, *(tree / name for name in names))
    assert len(unpacked) == 5
    assert images(package) == unpacked


def test_verify_names_the_file_in_the_package(tree: Path, tmp_path: Path) -> None:
    package = deflated_wheel(tree, tmp_path)
    result = omptool("verify", package)
    assert result.exit_code == 0, result.output
    for name in (LIBRARY, "kernels/libk.a(k.o)", "kernels/zstd.fatbin"):
        assert f"{package}({name}): no " in result.stdout


def test_sums_of_a_package(tree: Path, tmp_path: Path) -> None:
    text = omptool("dump", "--summary", deflated_wheel(tree, tmp_path)).stdout
    assert ".whl: archive, 4 members, " in text
    assert "share" not in text  # of bytes that are compressed
    alone = of_files(tmp_path / "one.whl", ("k.ptx", PTX), method=0)
    text = omptool("dump", "--summary", alone).stdout
    assert ".whl: archive, 1 member, " in text
    assert "share" in text


def test_images_come_out_of_a_package(tree: Path, tmp_path: Path) -> None:
    package = debian("xz")(tree, tmp_path)
    result = omptool("extract", package, "--arch", "sm_80", "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    (name,) = result.stdout.splitlines()
    omptool("extract", DATA / "zstd.fatbin", "--arch", "sm_80", "-o", tmp_path / "same")
    (same,) = (tmp_path / "same").iterdir()
    assert Path(name).read_bytes() == same.read_bytes()


def test_a_package_in_a_package_is_read_by_its_name(tree: Path, tmp_path: Path) -> None:
    root = tmp_path / "inner"
    root.mkdir()
    wheel = deflated_wheel(tree, root)
    shutil.copy(wheel, root / "data.zip")
    outer = zipped(root, tmp_path / "outer.whl", "-r")
    assert {name.split("/")[0] for name, *_ in images(outer)} == {wheel.name}


def test_a_package_without_offload_code(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "a.py").write_text("x = 1\n")
    for package in (stored_wheel(tmp_path / "tree", tmp_path), of_files(tmp_path / "none.whl")):
        for command in ("dump", "verify"):
            result = omptool(command, package)
            assert (result.exit_code, result.stderr) == (0, "")
            assert result.stdout == f"{package}: no offload code\n"


@pytest.mark.slow
def test_large_files_are_kept_on_disk(tree: Path, tmp_path: Path) -> None:
    """A library of 64 MiB, most of which is not compressible to nothing, in little memory."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "padding").write_bytes(bytes(range(256)) * (1 << 18))
    section = f".padding={root / 'padding'}"
    run("objcopy", "--add-section", section, tree / LIBRARY, root / "large.so")
    (root / "padding").unlink()
    package = zipped(root, tmp_path / "large.whl", "-r", "-1")
    assert images(package) == images(root, root / "large.so")
    assert (root / "large.so").stat().st_size > inflate.HELD
    check(package)


def _fetched(name: str, folder: Path) -> Path:
    """Return the file of a Debian package."""
    if not shutil.which("apt-get"):
        lacks("this is no Debian: there is no apt-get")
    command = ["apt-get", "download", "-qq", "-o", "APT::Sandbox::User=root", name]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    found = list(folder.glob(f"{name}_*.deb"))
    if not found:
        lacks(f"apt-get has no package {name}: {done.stderr.strip()}")
    return found[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [pytest.param("gcc-12-offload-nvptx", marks=pytest.mark.exhaustive), "libomp-14-dev"],
)
def test_packages_of_debian(tmp_path: Path, name: str) -> None:
    package = _fetched(name, tmp_path)
    tree = tmp_path / "tree"
    run("dpkg-deb", "-x", package, tree)
    unpacked = [path for path in tree.rglob("*") if path.is_file() and not path.is_symlink()]
    known = [p for p in unpacked if omptool("dump", "--summary", p).exit_code == 0]
    packed, there = set(images(package)), set(images(tree, *known))
    assert packed <= there
    # The package has a hard link's bytes once, under another name.
    assert {told[1:] for told in packed} == {told[1:] for told in there} != set()
