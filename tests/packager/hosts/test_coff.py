# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Host files of Windows by LLVM's tools: the images in their sections, as llvm-objdump has them."""

from __future__ import annotations

import re
import shutil
import struct
from pathlib import Path

import pytest
import sycl
from documents import document, dumped, dumped_images
from host_bytes import coff
from places import DATA
from toolchain import NVPTX, PTX, omptool, run

from packager.files.reader import Reader
from packager.hosts.windows import coff_headers

SOURCE = Path(__file__).parent / "coff.s"
SIZE_AT = 16  # offset in a section header
WINDOWS = "x86_64-pc-windows-msvc"
LINKS = {
    "program.exe": ("lld-link-19", "-entry:main", "-subsystem:console", "-out:"),
    "library.dll": ("lld-link-19", "-entry:main", "-dll", "-noimplib", "-out:"),
    "mingw.exe": ("ld.lld-19", "-m", "i386pep", "-e", "main", "-o"),
}
TYPES = {"program.exe": "executable", "library.dll": "shared", "mingw.exe": "executable"}


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("coff")
    (folder / "image.ptx").write_text(PTX)
    images = [
        f"--image=file={folder / 'image.ptx'},triple={NVPTX},arch={arch},kind=openmp"
        for arch in ("sm_70", "sm_80")
    ]
    run("clang-offload-packager-19", "-o", folder / "images", *images)
    shutil.copyfile(DATA / "none.fatbin", folder / "fatbin")
    for name, machine in (("object.obj", "x86_64"), ("arm.obj", "aarch64")):
        assembled(folder, folder / name, f"-triple={machine}-pc-windows-msvc")
    for name, (tool, *flags, out) in LINKS.items():
        target = [f"{out}{folder / name}"] if out.endswith(":") else [out, folder / name]
        run(tool, *flags, folder / "object.obj", *target)
    return folder


def assembled(folder: Path, out: Path, *flags: str) -> Path:
    run("llvm-mc-19", "-filetype=obj", *flags, f"-I={folder}", SOURCE, "-o", out)
    return out


@pytest.mark.parametrize("name", ["object.obj", "arm.obj"])
def test_objects(work: Path, name: str) -> None:
    file = dumped(work / name)
    machine = "aarch64" if name == "arm.obj" else "x86_64"
    assert file["host"] == {"machine": machine, "type": "object"}
    theirs = run("llvm-objdump-19", "--offloading", work / name)
    ours = [image for image in file["images"] if image["container"] == "offload-binary"]
    assert [image["declared_arch"] for image in ours] == re.findall(r"arch +(\S+)", theirs)
    assert [image["triple"] for image in ours] == re.findall(r"triple +(\S+)", theirs)
    assert [image["arch"] for image in file["images"][2:]] == ["sm_80", "sm_90a", "sm_90"]


@pytest.mark.parametrize("name", LINKS)
def test_what_linkers_make_of_them(work: Path, tmp_path: Path, name: str) -> None:
    """Linkers truncate section names, and llvm-objdump finds nothing."""
    file = dumped(work / name)
    assert file["host"] == {"machine": "x86_64", "type": TYPES[name]}
    targets = [(image["container"], image["declared_arch"]) for image in file["images"]]
    cuda = [("cuda-fatbin", arch) for arch in ("sm_80", "sm_90a", "sm_90")]
    assert sorted(targets) == sorted(
        [*cuda, ("offload-binary", "sm_70"), ("offload-binary", "sm_80")]
    )
    result = omptool("extract", "--arch", "sm_70", "-o", tmp_path, work / name)
    assert result.exit_code == 0
    assert all(path.read_text() == PTX for path in tmp_path.iterdir())
    assert all(image["address"] for image in file["images"])
    assert omptool("verify", "--ignore", "OMP110,OMP116", work / name).exit_code == 0


def test_members_of_archives(work: Path, tmp_path: Path) -> None:
    run("llvm-ar-19", "rcs", tmp_path / "library.lib", work / "object.obj", work / "arm.obj")
    files = document("dump", omptool("dump", "--json", tmp_path / "library.lib").stdout)["files"]
    assert [len(file["images"]) for file in files] == [5, 5]


def test_entries_are_said_to_be_unread(work: Path, tmp_path: Path) -> None:
    flags = (f"-triple={WINDOWS}", "-defsym=entries=1")
    result = omptool("dump", assembled(work, tmp_path / "entries.obj", *flags))
    assert result.exit_code == 2
    assert "section omp_offloading_entries has entries in a COFF file" in result.stderr
    assert "offload-binary" in result.stdout


def test_images_that_are_registered(tmp_path: Path) -> None:
    """nvcc makes such files on Windows; images are found without their registration."""
    fatbin = (DATA / "none.fatbin").read_bytes()
    (tmp_path / "k.obj").write_bytes(coff({".nv_fatb": fatbin, ".nvFatBi": bytes(24)}))
    assert dumped_images(tmp_path / "k.obj")
    assert omptool("dump", tmp_path / "k.obj").stderr == ""


def listed(folder: Path, pair: str = "image, size") -> Path:
    """Link a library for Windows in the form of Intel's compilers, with one compressed image."""
    packed = sycl.packed(sycl.spirv("first", "second"))
    (folder / "image").write_bytes(packed.data)
    (folder / "k.s").write_text(
        '.section __CLANG_OFFLOAD_BUNDLE__sycl,"dr"\nimage: .incbin "image"\n.quad 0\n'
        f'.set size, {packed.size}\n.section .tgtimg,"dr"\n.quad {pair}\n.quad 0, 0\n'
        ".text\n.globl main\nmain: ret\n"
    )
    flags = ("-filetype=obj", f"-triple={WINDOWS}", f"-I={folder}")
    run("llvm-mc-19", *flags, folder / "k.s", "-o", folder / "k.obj")
    tool, *words, out = LINKS["library.dll"]
    run(tool, *words, folder / "k.obj", f"{out}{folder / 'k.dll'}")
    return folder / "k.dll"


def test_images_of_intels_compilers(tmp_path: Path) -> None:
    (image,) = dumped_images(listed(tmp_path))
    assert (image["container"], image["kind"], image["producer"]) == ("tgtimg", "spirv", "sycl")
    assert (image["compression"], image["kernels"]) == ("zstd", ["first", "second"])
    assert omptool("verify", tmp_path / "k.dll").exit_code == 0


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ("image, 9", "inflates to"),
        ("16, 16", "device image of 16 bytes at 0x10 is not in the file"),
    ],
)
def test_a_list_that_does_not_fit_its_images(tmp_path: Path, pair: str, message: str) -> None:
    result = omptool("dump", listed(tmp_path, pair))
    assert result.exit_code == 2
    assert message in result.stderr


def test_as_many_sections_as_there_are(work: Path, tmp_path: Path) -> None:
    """/bigobj writes another header before the same sections."""
    plain = (work / "object.obj").read_bytes()
    machine, sections, _, symbols_at, symbols, _, _ = coff_headers.HEADER.unpack_from(plain)
    moved = coff_headers.BIG.size - coff_headers.HEADER.size
    head = coff_headers.BIG.pack(
        0, 0xFFFF, 2, machine, 0, coff_headers.BIG_CLASS, 0, 0, 0, 0, sections, 0, 0
    )
    table = bytearray(plain[coff_headers.HEADER.size :])
    strings = plain[symbols_at + symbols * coff_headers.SYMBOL :]
    for at in range(0, sections * coff_headers.SECTION.size, coff_headers.SECTION.size):
        (place,) = struct.unpack_from("<I", table, at + 20)
        struct.pack_into("<I", table, at + 20, place + moved if place else 0)
    whole = bytearray(head + table)
    struct.pack_into("<II", whole, coff_headers.BIG.size - 8, len(whole), 0)
    (tmp_path / "big.obj").write_bytes(whole + strings)
    assert len(dumped_images(tmp_path / "big.obj")) == len(dumped_images(work / "object.obj"))


@pytest.mark.parametrize(
    ("name", "at", "patch", "message"),
    [
        pytest.param("program.exe", 0x3C, b"\xff\xff\xff\x7f", "neither an ELF file", id="place"),
        pytest.param("object.obj", 2, b"\xff\xff", "neither an ELF file", id="sections"),
        pytest.param("object.obj", 8, b"\xff\xff\xff\x7f", "runs past the end", id="strings"),
        pytest.param("object.obj", 20, b"/99999\0", "name of a COFF section", id="name"),
    ],
)
def test_one_wrong_field(
    work: Path, tmp_path: Path, name: str, at: int, patch: bytes, message: str
) -> None:
    wrong = bytearray((work / name).read_bytes())
    wrong[at : at + len(patch)] = patch
    (tmp_path / name).write_bytes(wrong)
    result = omptool("dump", tmp_path / name)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_section_that_runs_out_of_the_file(work: Path, tmp_path: Path) -> None:
    whole = (work / "object.obj").read_bytes()
    sections = coff_headers.read(Reader(whole)).sections
    (number,) = (one.number for one in sections if one.name == ".nv_fatbin")
    wrong = bytearray(whole)
    at = coff_headers.HEADER.size + (number - 1) * coff_headers.SECTION.size + SIZE_AT
    struct.pack_into("<I", wrong, at, 1 << 30)
    (tmp_path / "wrong.obj").write_bytes(wrong)
    result = omptool("verify", tmp_path / "wrong.obj")
    assert "OMP111 error: section" in result.stdout
    assert "runs past the end" in result.stdout
    assert result.exit_code == 1


def test_doctor_names_the_kind_of_file(work: Path) -> None:
    result = omptool("doctor", work / "library.dll")
    assert result.exit_code == 2
    assert "is a PE or COFF file of Windows; doctor reads programs of Linux" in result.stderr
