# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool edit --remove` on libraries that shipped, with code for CUDA and for HIP."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from documents import dumped_files
from field_files import listed, unpacked
from toolchain import omptool, run

TRIPLES = {
    "jax-cuda13-plugin==0.10.2": "nvptx64-nvidia-cuda",
    "jax-rocm7-plugin==0.10.2": "amdgcn-amd-amdhsa",
}
pytestmark = pytest.mark.slow


@pytest.fixture(params=TRIPLES)
def shipped(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, str]:
    """Provide a copy of a library and the triple of its images."""
    (path,) = (
        Path(shutil.copy(source, tmp_path / "library.so"))
        for package in listed(quick=True)
        if str(package) == request.param
        for _, source in unpacked(package)
    )
    return path, TRIPLES[request.param]


def images(path: Path) -> list[dict[str, Any]]:
    (file,) = dumped_files("--hash", path)
    return list(file["images"])


def hashes(found: list[dict[str, Any]]) -> list[str]:
    return [image["sha256"] for image in found]


def build_id(path: Path) -> str:
    return run("readelf", "-n", path)


def test_one_architecture_stays(shipped: tuple[Path, str], tmp_path: Path) -> None:
    """All images for the others go, of every container, and the file gets shorter."""
    path, triple = shipped
    before, note = images(path), build_id(path)
    kept, *others = Counter(image["arch"] for image in before)
    out = tmp_path / "out.so"
    removed = [word for arch in others for word in ("--remove", f"{triple}:{arch}")]
    done = omptool("edit", path, *removed, "-o", out)
    assert (done.exit_code, done.stdout) == (0, ""), done.output
    stay = hashes([image for image in before if image["arch"] == kept])
    assert f"{len(before) - len(stay)} images are removed from " in done.stderr
    assert hashes(images(out)) == stay
    assert out.stat().st_size < path.stat().st_size
    assert omptool("verify", out).exit_code == omptool("verify", path).exit_code
    has_build_id = "Build ID" in note
    assert (build_id(out) != note) == has_build_id
    assert ("its build-id changes from" in done.stderr) == has_build_id


def test_the_result_is_that_of_slim(shipped: tuple[Path, str], tmp_path: Path) -> None:
    """Both commands remove images with the same code."""
    path, _ = shipped
    kept = "gfx942" if shipped[1].startswith("amdgcn") else "sm_90"
    out, slim = tmp_path / "out.so", tmp_path / "slim.so"
    assert omptool("slim", path, "--keep", kept, "-o", slim).exit_code == 0
    gone = (image["index"] for image in images(path) if image["arch"] != kept)
    removed = [word for number in gone for word in ("--remove", number)]
    assert omptool("edit", path, *removed, "-o", out).exit_code == 0
    assert out.read_bytes() == slim.read_bytes()


def test_an_image_goes_by_its_number(shipped: tuple[Path, str]) -> None:
    """The file is replaced by the result."""
    path, _ = shipped
    before = hashes(images(path))
    for number in (len(before) - 1, len(before) // 2, 0):
        done = omptool("edit", path, "--remove", number, "-o", path)
        assert done.exit_code == 0, done.output
        assert "1 image is removed from 1 container" in done.stderr
        del before[number]
        assert hashes(images(path)) == before


def test_other_changes_are_refused(shipped: tuple[Path, str], tmp_path: Path) -> None:
    path, triple = shipped
    owner = "CUDA's" if triple.startswith("nvptx64") else "HIP's"
    done = omptool("edit", path, "--order", "0", "-o", tmp_path / "out")
    line = f"Error: {path}: only --remove works on {owner} images, and --order does not\n"
    assert (done.exit_code, done.stdout, done.stderr) == (2, "", line)
