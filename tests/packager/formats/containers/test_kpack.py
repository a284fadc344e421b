# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ROCm's archives of kernels, by the layout that rocm-systems documents, and their libraries."""

from __future__ import annotations

import struct
from contextlib import suppress
from pathlib import Path

import pytest
from documents import dumped, dumped_images
from kpacks import IMAGE, LIBRARY, archive, for_gpu, library, reference
from toolchain import omptool, run
from verifying import findings

from packager.errors import FormatError
from packager.files.reader import Reader
from packager.formats.containers import kpack

ANY_GPU = "kpack/blas_@GFXARCH@.kpack"


@pytest.mark.parametrize("scheme", ["none", "zstd-per-kernel"])
def test_images_of_archives(tmp_path: Path, scheme: str) -> None:
    path = tmp_path / "all.kpack"
    path.write_bytes(archive(scheme))
    images = dumped_images(path)
    assert [image["declared_arch"] for image in images] == ["gfx1100", "gfx90a", "gfx90a"]
    assert [image["within"] for image in images] == [
        ["kpack(lib/libone.so#0)"],
        ["kpack(lib/libone.so#0)"],
        ["kpack(bin/two#0)"],
    ]
    assert all(image["size"] == len(IMAGE) for image in images)
    assert omptool("extract", path, "--image", "2", "-o", tmp_path / "out").exit_code == 0
    (file,) = (tmp_path / "out").iterdir()
    assert file.read_bytes() == IMAGE


@pytest.mark.parametrize(
    ("scheme", "patch"), [("later", b""), ("none", struct.pack("<I", 2))], ids=["scheme", "version"]
)
def test_a_newer_archive(tmp_path: Path, scheme: str, patch: bytes) -> None:
    path, content = tmp_path / "new.kpack", archive(scheme)
    path.write_bytes(content[:4] + (patch or content[4:8]) + content[8:])
    (found,) = findings(path, "--select", "OMP131")
    assert found["severity"] == "warning"


def test_damaged_archives(tmp_path: Path) -> None:
    for scheme in ("none", "zstd-per-kernel"):
        whole = archive(scheme)
        for size in range(0, len(whole), 97):
            with pytest.raises(FormatError):
                list(kpack.parse(Reader(whole[:size])))
        for at in range(8, 80):
            wrong = whole[:at] + b"\xff" + whole[at + 1 :]
            with suppress(FormatError):
                list(kpack.parse(Reader(wrong)))


def test_a_library_names_its_archives(tmp_path: Path) -> None:
    path = library(tmp_path, ANY_GPU)
    (found,) = findings(path)
    assert (found["code"], found["severity"]) == ("OMP134", "warning")
    assert f"lib/libone.so are in {ANY_GPU}, and no such file has them" in found["message"]
    assert "not there" in omptool("dump", path).stdout
    (tmp_path / "kpack").mkdir()
    (tmp_path / "kpack" / "blas_gfx1100.kpack").write_bytes(archive())
    assert findings(path) == []
    file = dumped(path)
    (archives,) = file["archives"]
    expected = {"file": "blas_gfx1100.kpack", "architectures": ["gfx1100", "gfx90a"]}
    assert archives["files"] == [expected]
    (row,) = file["registrations"]
    assert (row["runtime"], row["images"]) == ("hip", [])
    assert row["registered_by"]


def test_every_fat_binary_of_a_library_counts(tmp_path: Path) -> None:
    path = library(tmp_path, "all.kpack")
    table = {f"{LIBRARY}#0": ("gfx90a",), f"{LIBRARY}#1": ("gfx942",), f"{LIBRARY}x#0": ("gfx906",)}
    (tmp_path / "all.kpack").write_bytes(archive(libraries=table))
    (archives,) = dumped(path)["archives"]
    assert archives["files"] == [{"file": "all.kpack", "architectures": ["gfx90a", "gfx942"]}]


def test_gpus_of_other_archives(tmp_path: Path) -> None:
    """The GPUs for which ROCm is installed show in the names of other libraries' archives."""
    path = library(tmp_path, ANY_GPU)
    (tmp_path / "kpack").mkdir()
    for gpu in ("gfx1151", "gfx90a"):
        other = for_gpu(gpu, "lib/libother.so")
        (tmp_path / "kpack" / f"fft_{gpu}.kpack").write_bytes(other)
    (found,) = findings(path)
    assert found["severity"] == "warning"
    assert found["message"].endswith("; archives of others there are for gfx1151, gfx90a")
    (tmp_path / "kpack" / "blas_gfx90a.kpack").write_bytes(for_gpu("gfx90a", LIBRARY))
    (found,) = findings(path)
    assert (found["code"], found["severity"]) == ("OMP134", "info")
    assert "no kernels for gfx1151" in found["message"]
    assert "kpack/blas_gfx1151.kpack" in found["message"]
    (tmp_path / "kpack" / "blas_gfx1151.kpack").write_bytes(for_gpu("gfx1151", LIBRARY))
    assert findings(path) == []


def test_an_architecture_in_the_name_of_a_folder(tmp_path: Path) -> None:
    path = library(tmp_path, "kpack/@GFXARCH@/blas.kpack", str(tmp_path / "all.kpack"))
    (tmp_path / "kpack" / "gfx90a").mkdir(parents=True)
    (tmp_path / "kpack" / "gfx90a" / "blas.kpack").write_bytes(for_gpu("gfx90a", LIBRARY))
    (tmp_path / "all.kpack").write_bytes(for_gpu("gfx942", LIBRARY))
    found = [one["files"] for one in dumped(path)["archives"]]
    assert [[file["architectures"] for file in files] for files in found] == [
        [["gfx90a"]],
        [["gfx942"]],
    ]


def test_a_newer_archive_of_a_library(tmp_path: Path) -> None:
    path = library(tmp_path, "new.kpack")
    content = archive()
    (tmp_path / "new.kpack").write_bytes(content[:4] + struct.pack("<I", 2) + content[8:])
    (found, _) = findings(path)
    assert (found["code"], found["severity"]) == ("OMP131", "warning")
    assert "archive new.kpack: kpack at 0x0 has version 2" in found["message"]


def test_a_damaged_archive_of_a_library(tmp_path: Path) -> None:
    path = library(tmp_path, "bad.kpack")
    (tmp_path / "bad.kpack").write_bytes(archive()[:100])
    (found,) = findings(path, "--select", "OMP111")
    assert "archive bad.kpack: kpack at 0x0 has no table at" in found["message"]


def test_a_library_of_windows(tmp_path: Path) -> None:
    """Section names are short, and the linker pads sections with zeros."""
    named = reference(tmp_path, ANY_GPU)
    (tmp_path / "k.s").write_text(
        f'.section .kpackrf,"dr"\n.incbin "{named}"\n.section .hip_fat,"dr"\n.zero 8192\n'
        '.section .hipFatB,"dw"\n.long 0x4B504948, 1\n.quad 0, 0\n.text\n.globl main\nmain: ret\n'
    )
    flags = ("-filetype=obj", "-triple=x86_64-pc-windows-msvc")
    run("llvm-mc-19", *flags, tmp_path / "k.s", "-o", tmp_path / "k.obj")
    words = ("-entry:main", "-dll", "-noimplib", f"-out:{tmp_path / 'k.dll'}")
    run("lld-link-19", *words, tmp_path / "k.obj")
    for name in ("k.obj", "k.dll"):
        (found,) = findings(tmp_path / name)
        assert found["code"] == "OMP134"
    (tmp_path / "kpack").mkdir()
    (tmp_path / "kpack" / "blas_gfx1100.kpack").write_bytes(archive())
    (archives,) = dumped(tmp_path / "k.dll")["archives"]
    assert archives["files"][0]["architectures"] == ["gfx1100", "gfx90a"]
    assert findings(tmp_path / "k.dll") == []


def test_a_damaged_reference(tmp_path: Path) -> None:
    path = library(tmp_path, "one.kpack")
    content = path.read_bytes()
    path.write_bytes(content.replace(b"kernel_name", b"kernel_nome"))
    (found,) = findings(path, "--select", "OMP111")
    assert "names no library and no archives" in found["message"]
