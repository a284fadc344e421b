# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Read `.tgtimg` sections, made with the assembler because Intel's tools are not installed.

The layout is as published in intel/llvm's pull requests 3548 and 4622.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from documents import document
from toolchain import HOST, PTX, compile_c, device_image, omptool, run

LINKS = {"pie": ("-pie", "-fPIE"), "no-pie": ("-no-pie",), "shared": ("-shared", "-fPIC")}


def source(images: list[Path], *pairs: str) -> str:
    """Return assembly with images in data, and pairs that do not match them."""
    blobs = "\n".join(
        f'.balign 16\nimage{n}: .incbin "{path}"\nend{n}:' for n, path in enumerate(images)
    )
    rows = [f".quad image{n}, end{n} - image{n}" for n in range(len(images))]
    code = f"""
.pushsection OFFLOAD_DEVICE_CODE, "a"
{blobs}
.popsection
.pushsection .tgtimg, "aw"
.balign 16
{chr(10).join([*rows, *pairs])}
.popsection
"""
    return f"__asm__({json.dumps(code)});\nint main(void) {{ return 0; }}"


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("tgtimg")
    (folder / "image.ptx").write_text(PTX)
    return [device_image(HOST, folder / "image.so"), folder / "image.ptx"]


def dumped(path: Path, exit_code: int = 0) -> dict[str, Any]:
    result = omptool("dump", "--json", path)
    assert result.exit_code == exit_code, result.output
    return document("dump", result.stdout)


@pytest.mark.parametrize("link", [*LINKS, "object"])
def test_images_are_found(tmp_path: Path, parts: list[Path], link: str) -> None:
    flags = LINKS.get(link, ("-c",))
    path = compile_c(source(parts, ".quad 0, 0"), tmp_path / "program", *flags)
    (file,) = dumped(path)["files"]
    assert [(i["container"], i["kind"]) for i in file["images"]] == [
        ("tgtimg", "elf"),
        ("tgtimg", "ptx"),
    ]
    assert [i["size"] for i in file["images"]] == [part.stat().st_size for part in parts]
    assert all(i["kernels"] == ["first", "second"] for i in file["images"])
    assert omptool("verify", path).exit_code == 0
    if link == "pie":
        run("strip", "-s", path)
        assert len(dumped(path)["files"][0]["images"]) == 2
    out = tmp_path / "out"
    assert omptool("extract", "--all", path, "-o", out).exit_code == 0
    assert sorted(file.read_bytes() for file in out.iterdir()) == sorted(
        part.read_bytes() for part in parts
    )


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        pytest.param(".quad image0, 0x7ffffffffffffff0", "is not in the file", id="size"),
        pytest.param(".quad 0x7ffffffffffffff0, 64", "is not in the file", id="address"),
    ],
)
def test_one_wrong_field(tmp_path: Path, parts: list[Path], pair: str, message: str) -> None:
    path = compile_c(source(parts, pair), tmp_path / "program", "-no-pie")
    document = dumped(path, 2)
    assert [error["message"].endswith(message) for error in document["errors"]] == [True]
    assert len(document["files"][0]["images"]) == 2
    result = omptool("verify", path)
    assert result.exit_code == 1
    assert "OMP111 error: section .tgtimg: image 2 of" in result.stdout


def test_half_a_pair(tmp_path: Path, parts: list[Path]) -> None:
    result = omptool("dump", compile_c(source(parts, ".quad 0"), tmp_path / "program"))
    assert result.exit_code == 2
    assert "section .tgtimg of 40 bytes holds no pairs of addresses and sizes" in result.stderr
