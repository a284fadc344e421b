# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool dump --disassemble`: a kernel's code, by the tools that this machine has."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from places import DATA
from portable import four_images
from products import Products
from toolchain import NVPTX, omptool, run

from packager.writers import disassembly

CUDA = DATA / "none.fatbin"


@pytest.fixture(scope="module")
def program(products: Products) -> Path:
    return four_images(products)


@pytest.mark.parametrize(
    ("kind", "tool", "words"),
    [
        ("elf", "llvm-objdump", [r"<turn>:", r"\bpushq\b"]),
        ("ptx", "", [r"^\.visible \.entry turn\(", r"\bret;"]),
        ("amdgcn", "llvm-objdump", [r"<turn>:", r"s_barrier", r"s_endpgm"]),
        ("spirv", "spirv-dis", [r"= OpFunction ", r"OpControlBarrier", r"OpFunctionEnd$"]),
    ],
)
def test_each_kind_of_image(program: Path, kind: str, tool: str, words: list[str]) -> None:
    result = omptool("dump", "--kind", kind, "--disassemble", "turn", program)
    assert result.exit_code == 0, result.output
    head, code = result.stdout.split(":\n", 1)
    assert head.startswith(f"{program}: image ")
    assert f", by {tool}" in head if tool else ", by" not in head
    for word in words:
        assert re.search(word, code, re.MULTILINE), word
    assert "atomics" not in code


def test_bitcode(tmp_path: Path) -> None:
    body = "{ ret void }"
    text = f'target triple = "{NVPTX}"\ndefine ptx_kernel void @turn() {body}\n'
    (tmp_path / "k.ll").write_text(f"{text}define ptx_kernel void @other() {body}\n")
    path = tmp_path / "k.bc"
    run("llvm-as-19", tmp_path / "k.ll", "-o", path)
    result = omptool("dump", "--disassemble", "turn", path)
    assert result.exit_code == 0, result.output
    assert ", by llvm-dis" in result.stdout
    assert result.stdout.count("define ") == 1
    assert result.stdout.rstrip().endswith("}")


def test_a_tool_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Images that need no tool are shown all the same."""
    monkeypatch.setenv("PATH", str(tmp_path))
    result = omptool("dump", "--disassemble", "first", CUDA)
    assert result.exit_code == 3
    assert "cubin images need nvdisasm or cuobjdump, which is not on PATH" in result.stderr
    assert ".visible .entry first(" in result.stdout


def test_tools_with_the_number_of_a_release(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, program: Path
) -> None:
    real = disassembly.installed("llvm-objdump")[0]
    for name in ("llvm-objdump-9", "llvm-objdump-19", "llvm-objdump-x", "llvm-objdump-19.bak"):
        (tmp_path / name).symlink_to(Path(real).resolve())
    monkeypatch.setenv("PATH", str(tmp_path))
    found = [Path(path).name for path in disassembly.installed("llvm-objdump")]
    assert found == ["llvm-objdump-19", "llvm-objdump-9"]
    result = omptool("dump", "--kind", "elf", "--disassemble", "turn", program)
    assert ", by llvm-objdump-19:" in result.stdout


def test_a_tool_that_refuses_an_image(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    refusing = shutil.which("false")
    assert refusing
    (tmp_path / "nvdisasm").symlink_to(refusing)
    monkeypatch.setenv("PATH", str(tmp_path))
    result = omptool("dump", "--kind", "cubin", "--disassemble", "first", CUDA)
    assert result.exit_code == 2
    assert "image 0 is not disassembled: nvdisasm: exit code 1" in result.stderr


def test_which_kernel_is_meant(program: Path) -> None:
    several = omptool("dump", "--disassemble", "o", program)
    assert several.exit_code == 2
    assert "o means 3 kernels: atomics, shared_count, local" in several.stderr
    none = omptool("dump", "--disassemble", "absent", program)
    assert (none.exit_code, none.stdout) == (1, "")
    assert "no kernel is called absent" in none.stderr
    part = omptool("dump", "--kind", "ptx", "--disassemble", "ato", program)
    assert ".entry atomics(" in part.stdout


def test_it_is_a_question_of_its_own() -> None:
    for word in ("--json", "--kernels", "--summary", "--hash"):
        assert omptool("dump", word, "--disassemble", "first", CUDA).exit_code == 2
