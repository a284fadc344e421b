# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A file exceeds a limit: parts before stay, a line reports it, and the exit code is 2."""

from __future__ import annotations

from pathlib import Path

import pytest
from documents import document
from places import DATA
from toolchain import compile_c, omptool

from packager.files import context
from packager.formats.containers import cuda_fatbin

FATBIN = (DATA / "none.fatbin").read_bytes()  # two cubins and PTX


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    (tmp_path / "many.fatbin").write_bytes(FATBIN * 3)
    return tmp_path / "many.fatbin"


@pytest.fixture
def host(tmp_path: Path, bare: Path) -> Path:
    section = f'__asm__(".pushsection .nv_fatbin,\\"a\\"; .incbin \\"{bare}\\"; .popsection");'
    return compile_c(f"{section}\nint x;", tmp_path / "host.o", "-c")


@pytest.fixture
def archive(tmp_path: Path, bare: Path) -> Path:
    members = b"".join(
        b"%-16s%-12s%-6s%-6s%-8s%-10d`\n" % (b"%d/" % number, b"0", b"0", b"0", b"644", len(part))
        + part
        for number, part in enumerate([FATBIN, FATBIN, bare.read_bytes()])
    )
    (tmp_path / "many.a").write_bytes(b"!<arch>\n" + members)
    return tmp_path / "many.a"


@pytest.mark.parametrize("name", ["bare", "host", "archive"])
@pytest.mark.parametrize("limit", ["images", "fatbins"])
def test_what_came_before_a_limit_is_shown(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, name: str, limit: str
) -> None:
    path: Path = request.getfixturevalue(name)
    if limit == "images":
        monkeypatch.setattr(context, "MAX_IMAGES", 6)
    else:
        monkeypatch.setattr(cuda_fatbin, "MAX_FATBINS", 2)
    message = f"more than {6 if limit == 'images' else 2} "
    shown = 12 if (name, limit) == ("archive", "fatbins") else 6

    dumped = omptool("dump", "--json", path)
    files = document("dump", dumped.stdout)["files"]
    assert sum(len(file["images"]) for file in files) == shown
    verified = omptool("verify", "--ignore", "OMP116", path)
    assert "no findings" in verified.stdout
    extracted = omptool("extract", "--all", "-o", path.parent / "out", path)
    assert len(list((path.parent / "out").iterdir())) == shown
    for result in (dumped, verified, extracted):
        assert (result.exit_code, result.stderr.count("Error: ")) == (2, 1)
        assert message in result.stderr


def test_a_limit_that_nothing_comes_before(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_fatbin, "MAX_FATBINS", 0)
    for command in ("dump", "verify"):
        result = omptool(command, bare)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "more than 0 CUDA fatbins in a row" in result.stderr


def test_as_many_as_there_are(tmp_path: Path) -> None:
    """cuBLAS has 5666 images in 2638 fatbins; OffloadBinaries may have any number of entries."""
    lto = (DATA / "lto-zstd.fatbin").read_bytes()
    (tmp_path / "all.fatbin").write_bytes(lto * 6000)
    result = omptool("dump", "--images", tmp_path / "all.fatbin")
    assert (result.exit_code, result.stdout.count("cuda-fatbin")) == (0, 6000)
