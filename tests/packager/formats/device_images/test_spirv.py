# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""SPIR-V modules: version, addressing and kernels, in either byte order; damaged ones are named."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from toolchain import run

from packager.errors import FormatError
from packager.files.reader import Reader
from packager.formats.device_images import known as images
from packager.formats.device_images import spirv

ASSEMBLY = """
OpCapability Kernel
OpCapability Addresses
OpMemoryModel Physical64 OpenCL
OpEntryPoint Kernel %1 "first"
OpEntryPoint Kernel %1 "second_kernel"
%v = OpTypeVoid
%f = OpTypeFunction %v
%1 = OpFunction %v None %f
%l = OpLabel
OpReturn
OpFunctionEnd
"""


def module(*instructions: bytes, order: str = "<", version: int = 0x10200) -> bytes:
    """Assemble a module by hand: spirv-as writes only its machine's byte order."""
    header = struct.pack("<5I", 0x07230203, version, 0, 9, 0)
    data = header + b"".join(instructions)
    if order == "<":
        return data
    return b"".join(data[at : at + 4][::-1] for at in range(0, len(data), 4))


def instruction(opcode: int, *operands: int, name: str = "") -> bytes:
    literal = name.encode() + b"\0" if name else b""
    literal += bytes(-len(literal) % 4)
    words = 1 + len(operands) + len(literal) // 4
    return struct.pack(f"<{1 + len(operands)}I", words << 16 | opcode, *operands) + literal


MODEL = instruction(14, 2, 2)
KERNELS = (instruction(15, 6, 1, name="first"), instruction(15, 6, 1, name="four"))


@pytest.mark.parametrize("order", ["<", ">"])
def test_both_byte_orders(order: str) -> None:
    contents = spirv.inspect(Reader(module(MODEL, *KERNELS, instruction(54, 1), order=order)))
    assert (contents.machine, contents.arch) == ("spirv64", "SPIR-V 1.2")
    assert [symbol.name for symbol in contents.symbols] == ["first", "four"]


def test_a_module_with_many_names_is_read() -> None:
    names = b"".join(instruction(5, number, name="a") for number in range(1 << 16))
    contents = spirv.inspect(Reader(module(MODEL, *KERNELS, names, instruction(54, 1))))
    assert [symbol.name for symbol in contents.symbols] == ["first", "four"]


def test_entry_points_of_other_kinds_are_no_kernels() -> None:
    shader = instruction(15, 4, 1, name="main")
    assert spirv.inspect(Reader(module(MODEL, shader))).symbols == ()


LINKAGE = instruction(17, 5)
# Types: a pointer to 64 bits of device memory, and an array of four.
TYPES = (instruction(21, 2, 64, 0), instruction(32, 3, 5, 2))
VARIABLES = (*TYPES, *(instruction(59, 3, number, 5) for number in (5, 6, 7, 8)))
ELSEWHERE = instruction(59, 3, 9, 4)  # storage class 4 is a team's memory


def exporting(number: int, name: str, linkage: int = 0) -> bytes:
    """Return a LinkageAttributes decoration: a name, then exported (0), imported or link-once."""
    text = instruction(71, number, 41, name=name)
    words = len(text) // 4 + 1
    return struct.pack("<I", words << 16 | 71) + text[4:] + struct.pack("<I", linkage)


NAMED = (exporting(5, "one"), exporting(6, "seven77"), exporting(7, "imported", 1))


@pytest.mark.parametrize("order", ["<", ">"])
def test_variables_that_are_exported(order: str) -> None:
    parts = (LINKAGE, MODEL, *KERNELS, *NAMED, exporting(9, "of_team"), *VARIABLES, ELSEWHERE)
    contents = spirv.inspect(Reader(module(*parts, instruction(54, 1), order=order)))
    found = [(symbol.name, symbol.kind, symbol.size) for symbol in contents.symbols]
    assert found[2:] == [("one", "global", 8), ("seven77", "global", 8)]
    assert [symbol.name for symbol in contents.table or ()] == ["first", "four"]
    assert contents.links.undefined == ("imported",)


def test_without_linkage_nothing_is_exported() -> None:
    contents = spirv.inspect(Reader(module(MODEL, *KERNELS, *NAMED, *VARIABLES)))
    assert [symbol.name for symbol in contents.symbols] == ["first", "four"]


@pytest.mark.parametrize("at", [3, 1])
def test_a_module_that_ends_among_its_variables(at: int) -> None:
    data = module(LINKAGE, MODEL, *KERNELS, *NAMED, *VARIABLES)
    with pytest.raises(FormatError, match=r"SPIR-V instruction at 0x.* runs past the end"):
        spirv.inspect(Reader(data[: -4 * at]))


def test_operands_that_are_not_there() -> None:
    short = (instruction(opcode) for opcode in (21, 22, 23, 28, 32, 43, 59, 71))
    contents = spirv.inspect(Reader(module(LINKAGE, MODEL, *KERNELS, *short)))
    assert [symbol.name for symbol in contents.symbols] == ["first", "four"]


def test_what_the_assembler_writes(tmp_path: Path) -> None:
    (tmp_path / "k.spvasm").write_text(ASSEMBLY)
    out = tmp_path / "k.spv"
    run("spirv-as", "--target-env", "spv1.2", tmp_path / "k.spvasm", "-o", out)
    contents = images.contents(Reader(out.read_bytes()))
    assert [symbol.name for symbol in contents.symbols] == ["first", "second_kernel"]
    assert (contents.kind, contents.machine, contents.arch) == ("spirv", "spirv64", "SPIR-V 1.2")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (module()[:6], "SPIR-V header at 0x4..0x8 runs past the end"),
        (module(b"\1\0\0\0"), "SPIR-V instruction at 0x14 has no words"),
        (module(instruction(15, 6, 1, name="first")[:8]), "runs past the end"),
        (
            module(*[instruction(17, 6)] * (1 << 16), b"\1"),
            "has no types or functions for too long",
        ),
    ],
)
def test_a_malformed_module(data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        spirv.inspect(Reader(data))
    assert images.contents(Reader(data)).problem
