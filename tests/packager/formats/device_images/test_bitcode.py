# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LLVM bitcode of every clang: contents compared with llvm-nm, and one wrong field."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any

import pytest
from clangs import FULL, INSTALLED, tool
from documents import document
from places import CORPUS, TESTS
from toolchain import HOST, MAIN, NVPTX, OPENMP, X86_64, bundled, compile_c, omptool, run
from verifying import findings

from packager.errors import FormatError
from packager.files.reader import Reader
from packager.formats.device_images.bitcode import bitstream
from packager.formats.device_images.bitcode import module as bitcode
from packager.model import Contents

BITCODE = ("-emit-llvm", "-c")
SOURCE = (TESTS / "packager" / "formats" / "device_images" / "symbols.c").read_text()


def clang(version: str, *words: object) -> None:
    """Run a clang; -g adds metadata to the bitcode."""
    run(*tool(version), "-O1", "-g", *words)


def compiled(version: str, text: str, out: Path, *flags: str) -> Path:
    out.with_suffix(".c").write_text(text)
    clang(version, "-emit-llvm", "-c", *flags, out.with_suffix(".c"), "-o", out)
    return out


def inspected(path: Path) -> Contents:
    return bitcode.inspect(Reader(path.read_bytes()))


@pytest.mark.parametrize("version", FULL)
def test_symbols_of_a_cpu(tmp_path: Path, version: str) -> None:
    found = inspected(compiled(version, SOURCE, tmp_path / "code.bc", f"--target={X86_64}"))
    assert (found.kind, found.machine, found.is_opaque) == ("bitcode", "x86_64", False)
    assert {(s.name, s.kind, s.size) for s in found.symbols} == {
        ("table", "global", 5 * 24),
        ("pointer", "global", 8),
        ("seen", "kernel", 0),
    }
    assert set(found.links.undefined) == {"called", "elsewhere"}


def test_the_same_as_llvm_nm_says(tmp_path: Path) -> None:
    path = compiled(INSTALLED, SOURCE, tmp_path / "code.bc", f"--target={X86_64}")
    found = inspected(path)
    names = [line.split() for line in run("llvm-nm-19", path).splitlines()]
    undefined = {name for *_, letter, name in names if letter == "U"}
    others = {name for *_, letter, name in names if letter.isupper() and letter != "U"}
    assert set(found.links.undefined) == undefined
    assert {symbol.name for symbol in found.symbols} == others - {"invisible"}


def device_code(version: str, folder: Path) -> Path:
    """Compile an OpenMP program to device bitcode for NVIDIA's GPUs."""
    source = folder / "device.c"
    source.write_text(OPENMP)
    flags = ("-fopenmp", f"-fopenmp-targets={NVPTX}", "-nogpulib", "-Wno-unknown-cuda-version")
    host, out = folder / "host.bc", folder / "device.bc"
    clang(version, *flags, "-emit-llvm", "-c", "--target=" + X86_64, source, "-o", host)
    clang(
        version, "-cc1", "-triple", NVPTX, "-emit-llvm-bc", "-fopenmp", "-fopenmp-is-target-device",
        "-fopenmp-host-ir-file-path", host, source, "-o", out,
    )  # fmt: skip
    return out


KERNELS = {
    "annotated": (
        """target triple = "nvptx64-nvidia-cuda"
@table = addrspace(1) global [4 x i64] zeroinitializer
@shared = internal addrspace(3) global [8 x i32] undef
define void @first(ptr %p) { ret void }
define void @helper(ptr %p) { ret void }
define void @second(ptr %p) { ret void }
!nvvm.annotations = !{!0, !1, !2}
!0 = !{ptr @first, !"kernel", i32 1}
!1 = !{ptr @helper, !"maxntidx", i32 64}
!2 = !{ptr @second, !"maxntidx", i32 64, !"kernel", i32 1}
""",
        "nvptx64",
    ),
    "called-so": (
        """target triple = "amdgcn-amd-amdhsa"
@table = addrspace(1) global [4 x i64] zeroinitializer
define amdgpu_kernel void @first(ptr %p) { ret void }
define void @helper(ptr %p) { ret void }
define amdgpu_kernel void @second(ptr %p) { ret void }
""",
        "amdgcn",
    ),
}


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_of_gpus(tmp_path: Path, name: str) -> None:
    text, machine = KERNELS[name]
    (tmp_path / "k.ll").write_text(text)
    run("llvm-as-19", tmp_path / "k.ll", "-o", tmp_path / "k.bc")
    found = inspected(tmp_path / "k.bc")
    assert found.machine == machine
    kernels = [symbol.name for symbol in found.symbols if symbol.kind == "kernel"]
    assert kernels == ["first", "second"]
    assert [(s.name, s.size) for s in found.symbols if s.kind == "global"] == [("table", 32)]


def dumped(path: Path) -> dict[str, Any]:
    result = omptool("dump", "--json", path)
    assert result.exit_code == 0, result.output
    return dict(document("dump", result.stdout)["files"][0])


@pytest.mark.parametrize("version", FULL[1:])
def test_objects_whose_device_code_is_to_be_linked(tmp_path: Path, version: str) -> None:
    """-foffload-lto leaves bitcode in the object: its kernels are the entries."""
    source, out = tmp_path / "source.c", tmp_path / "source.o"
    source.write_text(OPENMP)
    flags = ("-fopenmp", f"-fopenmp-targets={X86_64}", "-foffload-lto")
    clang(version, *flags, "-c", source, "-o", out)
    (image,) = dumped(out)["images"]
    assert (image["kind"], image["machine"], len(image["kernels"])) == ("bitcode", "x86_64", 2)
    assert {tuple(entry["images"]) for entry in dumped(out)["entries"]} <= {
        ("present",),
        ("unrelated",),
    }
    assert [f for f in findings(out) if f["severity"] == "error"] == []
    shown = omptool("dump", "--kernels", out).stdout
    assert shown.count("main:") == 2


def test_an_entry_that_bitcode_lacks(tmp_path: Path) -> None:
    host = compile_c(HOST + MAIN, tmp_path / "host.o", "-c", "-fPIC")
    flags = ("-emit-llvm", "-c")
    for name, text in (("whole", HOST), ("lacking", HOST.replace("first", "frist"))):
        image = compile_c(text, tmp_path / f"{name}.bc", *flags, compiler="clang-19")
        out = bundled(host, tmp_path / f"{name}.o", {X86_64: image})
        errors = [f["message"] for f in findings(out) if f["severity"] == "error"]
        assert len(errors) == (name == "lacking")
        assert all("kernel first is missing in image 0" in str(message) for message in errors)


def test_functions_of_a_cpu_are_kernels_where_an_entry_names_them(tmp_path: Path) -> None:
    """Any function may be; a library's helpers are none."""
    text = HOST + "void helper(void) {}"
    image = compile_c(text, tmp_path / "k.bc", *BITCODE, compiler="clang-19")
    (bare,) = dumped(image)["images"]
    assert bare["kernels"] == []
    assert re.search(r"^helper +\d+ +function", omptool("dump", image).stdout, re.MULTILINE)
    host = compile_c(HOST + MAIN, tmp_path / "host.o", "-c", "-fPIC")
    out = bundled(host, tmp_path / "bundled.o", {X86_64: image})
    (bundle,) = dumped(out)["images"]
    assert bundle["kernels"] == ["first", "second"]
    assert [f for f in findings(out) if f["code"] == "OMP107"] == []


def test_bitcode_in_a_wrapper(tmp_path: Path) -> None:
    """LLVM writes such wrappers for Apple's systems."""
    plain = compiled(INSTALLED, SOURCE, tmp_path / "code.bc").read_bytes()
    wrapper = struct.pack("<IIIII", 0x0B17C0DE, 0, 20, len(plain), 7)
    assert bitcode.inspect(Reader(wrapper + plain)) == bitcode.inspect(Reader(plain))
    cut = bitcode.inspect(Reader(wrapper + plain[:-4]))
    assert "bitcode in its wrapper at 0x14..0x" in str(cut.problem)


def block_at(data: bytes, number: int) -> bitstream.Block:
    stream = bitstream.Stream(Reader(data))
    whole = bitstream.Block(-1, 2, 32, len(data) * 8)
    blocks = (item for item in bitstream.items(stream, whole) if isinstance(item, bitstream.Block))
    return next(block for block in blocks if block.number == number)


@pytest.mark.parametrize(
    ("number", "at", "patch", "message"),
    [
        pytest.param(8, -4, b"\xff\xff\xff\x7f", "block 8 of .* bytes runs past", id="size"),
        pytest.param(8, -4, bytes(4), "record outside of all blocks", id="no-size"),
        pytest.param(23, -4, b"\xff\xff\xff\x7f", "block 23 of .* bytes runs past", id="names"),
        pytest.param(23, 0, bytes(16), "name of a symbol in bitcode at .* runs past", id="blob"),
        pytest.param(8, 0, b"\xff" * 8, "bitcode .*", id="first-record"),
    ],
)
def test_one_wrong_field(tmp_path: Path, number: int, at: int, patch: bytes, message: str) -> None:
    data = bytearray(compiled(INSTALLED, SOURCE, tmp_path / "code.bc").read_bytes())
    start = block_at(bytes(data), number).start // 8 + at
    data[start : start + len(patch)] = patch
    found = bitcode.inspect(Reader(bytes(data)))
    assert re.search(message, found.problem or "") is not None
    (tmp_path / "wrong.bc").write_bytes(data)
    assert omptool("dump", tmp_path / "wrong.bc").exit_code == 0
    assert omptool("verify", tmp_path / "wrong.bc").exit_code == 1


def test_every_cut_is_named(tmp_path: Path) -> None:
    data = compiled(INSTALLED, SOURCE, tmp_path / "code.bc").read_bytes()
    for size in range(4, len(data) - 4, 64):
        found = bitcode.inspect(Reader(data[:size]))
        assert found.problem or found.is_opaque


def test_a_number_that_does_not_end() -> None:
    stream = bitstream.Stream(Reader(b"\xff" * 64))
    with pytest.raises(FormatError, match="has a number without end"):
        bitstream.Cursor(stream, 0, 512).variable(6)


@pytest.mark.slow
def test_every_byte_of_a_small_module() -> None:
    """Each changed byte yields an error or other symbols."""
    data = (CORPUS / "seed-image.bc").read_bytes()
    for at in range(4, len(data), 2):
        for value in (0, 0xFF, data[at] ^ 0x40):
            found = bitcode.inspect(Reader(data[:at] + bytes([value]) + data[at + 1 :]))
            assert found.kind == "bitcode"
            assert found.problem is None or found.is_opaque
