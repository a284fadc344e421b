# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The reader of AArch64's code on an assembler's output, and on code that it must not guess."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from clangs import INSTALLED, tool
from toolchain import run

from packager.elf.headers import read
from packager.files.reader import open_reader
from packager.host_machines import AARCH64, X86_64
from packager.host_machines.machine import HostMachine, Step

READER, START = AARCH64.reader, 0x10000
PAGE, INSIDE = START + 0x3000, 0x128


def code(tmp_path: Path, text: str) -> bytes:
    """Assemble instructions, without resolving relocations."""
    source, out = tmp_path / "a.s", tmp_path / "a.o"
    source.write_text("\n".join(text.split(";")) + "\n")
    run(*tool(INSTALLED, "clang"), "--target=aarch64-linux-gnu", "-c", source, "-o", out)
    with open_reader(out) as data:
        elf = read(data)
        (section,) = elf.named(".text")
        return elf.content(section).bytes()


@pytest.mark.parametrize(
    "text",
    [
        "adrp x0, #0x3000; add x0, x0, #0x128; b .",
        "stp x29, x30, [sp, #-16]!; mov x29, sp; adrp x8, #0x3000; add x0, x8, #0x128; bl .",
        "adrp x8, #0x3000; str x1, [x8, #8]; nop; add x8, x8, #0x128",
        "adrp x19, #0x3000; bl .; add x0, x19, #0x128",
        "adrp x1, #0x3000; mov x2, x1; add x0, x2, #0x128",
        "nop; adr x0, #0x3124",
    ],
)
def test_addresses(tmp_path: Path, text: str) -> None:
    assert PAGE + INSIDE in set(READER.relative(code(tmp_path, text), START))


@pytest.mark.parametrize(
    "text",
    [
        "adrp x0, #0x3000; bl .; add x0, x0, #0x128",
        "adrp x0, #0x3000; ret; add x0, x0, #0x128",
        "adrp x0, #0x3000; br x1; add x0, x0, #0x128",
        "adrp x0, #0x3000; ldr x0, [x0, #8]; add x0, x0, #0x128",
        "adrp x0, #0x3000; and x0, x0, x1; add x0, x0, #0x128",
        "adrp x0, #0x3000; add x1, x2, #0x128",
        "adrp x0, #0x3000",
        "add sp, sp, #0x128",
    ],
)
def test_registers_that_are_unknown(tmp_path: Path, text: str) -> None:
    assert list(READER.relative(code(tmp_path, text), START)) == []


def test_loads(tmp_path: Path) -> None:
    text = "adrp x0, #0x3000; ldr x0, [x0, #0x128]; ldr x1, #0x20; ldr x2, [x0, #8]"
    found = list(READER.loads(code(tmp_path, text), START))
    assert found == [PAGE + INSIDE, START + 8 + 0x20]


def test_numbers(tmp_path: Path) -> None:
    text = "movz x0, #0x5678; movk x0, #0x1234, lsl #16; mov w1, #8"
    found = code(tmp_path, text)
    assert READER.holds(found, 0x12345678)
    assert not READER.holds(found, 0x1234)
    assert 8 in READER.absolute(found)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("mov w0, #8; b .", 8),
        ("mov w8, #8; mov w0, w8; bl .; mov w0, #9", 8),
        ("mov w1, #8; bl .", None),
        ("mov w0, w8; bl .", None),
        ("mov w0, #8; ldr w0, [sp]; bl .", None),
        ("mov w0, #8", None),
    ],
)
def test_arguments(tmp_path: Path, text: str, number: int | None) -> None:
    assert READER.argument(code(tmp_path, text), 0) == number


def placed(steps: Iterable[Step[int]], start: int) -> bytes:
    """Return the bytes of code at an address."""
    content = b""
    for instruction, target in steps:
        field, code = instruction.field, instruction.code
        if field is not None and target is not None:
            filled = field.filled(code, start + len(content), target)
            assert filled is not None
            code = filled
        content += code
    return content


@pytest.mark.parametrize("machine", [AARCH64, X86_64])
@pytest.mark.parametrize("start", [0x10000, 0x7FFFF000, 0x10FF8])
def test_code_reads_as_it_was_written(machine: HostMachine, start: int) -> None:
    """The reader recovers a constructor's argument, wherever code and argument are."""
    target, slot, following = 0x43210, start + 0x800, start + 0x400
    for by_slot in (False, True):
        first = machine.code.first(target, slot, following, by_slot=by_slot)
        last = machine.code.last(target, slot, following, by_slot=by_slot)
        for steps in (first, last):
            content = placed(steps, start)
            assert target in machine.reader.relative(content, start)
    assert machine.reader.argument(placed(machine.code.tail_call(8, following), start), 0) == 8


@pytest.mark.parametrize(
    ("machine", "distance", "is_near"),
    [
        (AARCH64, (1 << 27) - 4, True),
        (AARCH64, 1 << 27, False),
        (AARCH64, -(1 << 27), True),
        (AARCH64, 2, False),
        (X86_64, (1 << 31) - 1, True),
        (X86_64, 1 << 32, False),
    ],
)
def test_branches_reach_so_far(machine: HostMachine, distance: int, *, is_near: bool) -> None:
    *_, (jump, target) = machine.code.first("argument", "slot", "next", by_slot=False)
    place = 1 << 40
    assert target == "next"
    assert jump.field is not None
    assert (jump.field.filled(jump.code, place, place + distance) is not None) == is_near
