# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool extract` writes images unchanged, and never outside the folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from documents import document
from places import DATA
from toolchain import HOST, MAIN, NVPTX, PTX, X86_64, bundled, compile_c, device_image, omptool, run

from packager.model import Contents, DeviceImage
from packager.writers.extract import file_name


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide an object with an image for the CPU and one in PTX."""
    folder = tmp_path_factory.mktemp("extract")
    host = compile_c(HOST + MAIN, folder / "host.o", "-c")
    device_image(HOST, folder / "image.so")
    (folder / "image.ptx").write_text(PTX)
    images = {X86_64: folder / "image.so", f"{NVPTX}:sm_70": folder / "image.ptx"}
    bundled(host, folder / "both.o", images)
    run("ar", "rcs", folder / "lib.a", folder / "both.o")
    return folder


@pytest.mark.parametrize("source", ["both.o", "lib.a"])
def test_all_images_come_out_as_they_went_in(work: Path, tmp_path: Path, source: str) -> None:
    result = omptool("extract", work / source, "--all", "-o", tmp_path / "new" / "folder")
    assert result.exit_code == 0
    paths = [Path(line) for line in result.stdout.splitlines()]
    member = "both.o-" if source == "lib.a" else ""
    assert [path.name for path in paths] == [
        f"{source}-{member}0-{X86_64}.so",
        f"{source}-{member}1-{NVPTX}-sm_70.ptx",
    ]
    assert paths[0].read_bytes() == (work / "image.so").read_bytes()
    assert paths[1].read_text() == PTX


@pytest.mark.parametrize(
    ("options", "number"),
    [
        (["--image", "1"], 1),
        (["--triple", "x86_64"], 0),
        (["--arch", "sm_70"], 1),
        (["--kind", "ptx"], 1),
        (["--kind", "ptx", "--kind", "elf", "--image", "0"], 0),
    ],
)
def test_choosing(work: Path, tmp_path: Path, options: list[str], number: int) -> None:
    result = omptool("extract", work / "both.o", *options, "-o", tmp_path, "--json")
    (image,) = document("extract", result.stdout)["images"]
    assert image["index"] == number
    assert [str(path) for path in tmp_path.iterdir()] == [image["path"]]


@pytest.mark.parametrize("option", ["--image=0", "--triple=x86_64", "--arch=sm_70", "--kind=ptx"])
def test_all_and_some_is_wrong_usage(work: Path, tmp_path: Path, option: str) -> None:
    result = omptool("extract", work / "both.o", "--all", option, "-o", tmp_path)
    assert result.exit_code == 2
    assert "--all selects every image" in result.stderr
    assert not list(tmp_path.iterdir())


def test_compressed_images_are_inflated(tmp_path: Path) -> None:
    for name in ("none", "zstd", "lz4"):
        omptool("extract", DATA / f"{name}.fatbin", "--arch", "sm_80", "-o", tmp_path)
    one, *others = [path.read_bytes() for path in tmp_path.iterdir()]
    assert one.startswith(b"\x7fELF")
    assert all(other == one for other in others)


def test_kernels_are_listed_and_nothing_is_written(work: Path, tmp_path: Path) -> None:
    result = omptool("extract", work / "both.o", "--kernels", "-o", tmp_path / "none")
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.stdout.splitlines()[3:]] == [
        "first",
        "second",
    ] * 2
    assert not (tmp_path / "none").exists()


def test_several_images_and_none_named(work: Path, tmp_path: Path) -> None:
    result = omptool("extract", work / "both.o", "-o", tmp_path)
    assert result.exit_code == 2
    assert f"Error: {work / 'both.o'}: holds 2 images; choose with" in result.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--arch", "sm07"],
            "no image has the arch sm07 (did you mean sm_70?); the archs are sm_70",
        ),
        (["--image", "7"], "no image has the number 7; the numbers are 0-1"),
    ],
)
def test_no_such_image(work: Path, tmp_path: Path, options: list[str], said: str) -> None:
    result = omptool("extract", work / "both.o", *options, "-o", tmp_path)
    assert result.exit_code == 1
    assert result.stderr == f"Error: {work / 'both.o'}: {said}\n"


def test_a_folder_that_cannot_be_made(work: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = omptool("extract", work / "both.o", "--all", "-o", tmp_path / "file" / "folder")
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "hostile", ["../../etc/passwd", "/etc/passwd", "a\0b", "..", "-rf", "x" * 5000, "é\n"]
)
def test_names_stay_in_the_folder(tmp_path: Path, hostile: str) -> None:
    """Triple, arch and member come from the file, and may be hostile."""
    image = DeviceImage(0, "bare", hostile, hostile, 0, 4, None, Contents("ptx"), member=hostile)
    name = file_name(Path(hostile.replace("\0", "")), 0, image)
    assert (tmp_path / name).resolve().parent == tmp_path.resolve()
    assert name[0] not in ".-"
    assert len(name) < 256
    assert name.isascii()
