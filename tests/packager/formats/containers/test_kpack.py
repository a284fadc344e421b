# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ROCm's archives of kernels, by the layout that rocm-systems documents, and their libraries."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgpack
import pytest
import zstandard
from documents import dumped, dumped_images
from places import CORPUS
from toolchain import compile_c, omptool, run
from verifying import findings

from packager.errors import FormatError
from packager.files.reader import Reader
from packager.formats.containers import kpack

IMAGE = (CORPUS / "seed-image.co").read_bytes()
LIBRARIES = {"lib/libone.so": ("gfx1100", "gfx90a"), "bin/two": ("gfx90a",)}


def archive(scheme: str, libraries: Mapping[str, tuple[str, ...]] = LIBRARIES) -> bytes:
    toc: dict[str, dict[str, object]] = {}
    blobs, frames, count = [], b"", 0
    for name, archs in libraries.items():
        for arch in archs:
            row = {"type": "hsaco", "ordinal": count, "original_size": len(IMAGE)}
            toc.setdefault(name, {})[arch] = row
            blobs.append({"offset": 64 + count * len(IMAGE), "size": len(IMAGE)})
            frame = zstandard.compress(IMAGE)
            frames += struct.pack("<I", len(frame)) + frame
            count += 1
    frames = struct.pack("<I", count) + frames
    body = frames if scheme == "zstd-per-kernel" else IMAGE * count
    places = {"zstd_offset": 64, "zstd_size": len(frames)} if body is frames else {"blobs": blobs}
    table = {"format_version": 1, "compression_scheme": scheme, "toc": toc, **places}
    header = struct.pack("<4sIQ", b"KPAK", 1, 64 + len(body)).ljust(64, b"\0")
    packed: bytes = msgpack.packb(table)
    return header + body + packed


@pytest.mark.parametrize("scheme", ["none", "zstd-per-kernel"])
def test_images_of_archives(tmp_path: Path, scheme: str) -> None:
    path = tmp_path / "all.kpack"
    path.write_bytes(archive(scheme))
    images = dumped_images(path)
    assert [image["declared_arch"] for image in images] == ["gfx1100", "gfx90a", "gfx90a"]
    assert [image["within"] for image in images] == [
        ["kpack(lib/libone.so)"],
        ["kpack(lib/libone.so)"],
        ["kpack(bin/two)"],
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


def library(folder: Path, *paths: str) -> Path:
    reference = {"kernel_name": "lib/libone.so", "kpack_search_paths": paths}
    (folder / "reference").write_bytes(msgpack.packb(reference))
    text = '__attribute__((section(".hip_fatbin"), used)) const char zeros[8192] = {0};'
    plain = compile_c(text, folder / "plain.so", "-shared", "-fPIC")
    path = folder / "libone.so"
    run("objcopy", "--add-section", f".rocm_kpack_ref={folder / 'reference'}", plain, path)
    return path


def test_a_library_names_its_archives(tmp_path: Path) -> None:
    path = library(tmp_path, "kpack/blas_@GFXARCH@.kpack")
    (found,) = findings(path, "--select", "OMP134")
    assert found["severity"] == "warning"
    assert "lib/libone.so are in kpack/blas_@GFXARCH@.kpack, and no such" in found["message"]
    assert findings(path, "--select", "OMP111") == []
    assert "not there" in omptool("dump", path).stdout
    (tmp_path / "kpack").mkdir()
    (tmp_path / "kpack" / "blas_gfx1100.kpack").write_bytes(archive("none"))
    assert findings(path, "--select", "OMP134") == []
    (archives,) = dumped(path)["archives"]
    expected = {"file": "blas_gfx1100.kpack", "architectures": ["gfx1100", "gfx90a"]}
    assert archives["files"] == [expected]


def test_a_damaged_reference(tmp_path: Path) -> None:
    path = library(tmp_path, "one.kpack")
    run("objcopy", "--update-section", f".rocm_kpack_ref={path.parent / 'plain.so'}", path)
    assert omptool("verify", path).exit_code == 2
