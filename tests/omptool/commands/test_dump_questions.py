# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool dump --address`, `--against`, `--kernels`, `--wide`."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from documents import document, dumped
from fixture_programs import OMPTOOL
from toolchain import OPENMP, X86_64, clang_offload, omptool, run

from packager.naming.kernel_names import decode


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return clang_offload(OPENMP, tmp_path_factory.mktemp("questions") / "program")


@pytest.mark.slow
def test_an_address_of_the_host(program: Path) -> None:
    table, first, _ = dumped(program)["entries"]
    for address in (first["address"], hex(first["address"])):
        result = omptool("dump", "--address", address, program)
        assert result.exit_code == 0
        assert f"entry 1: kernel {first['name']}\n" in result.stdout
    result = omptool("dump", "--address", table["address"] + 9, program)
    assert "entry 0: global table + 0x9\n" in result.stdout


def test_an_address_of_the_running_program(program: Path) -> None:
    _, first, second = dumped(program)["entries"]
    base = 0x55D0_1234_5000
    result = omptool("dump", "--address", hex(base + second["address"]), program)
    assert f"entry 2: kernel {second['name']}, if the file is loaded at {base:#x}" in result.stdout
    assert first["name"] not in result.stdout


def test_an_address_in_an_image(program: Path, tmp_path: Path) -> None:
    (image,) = dumped(program)["images"]
    result = omptool("dump", "--address", image["address"] + 16, program)
    assert f"image 0 ({X86_64}), byte 0x10" in result.stdout
    omptool("extract", program, "-o", tmp_path)
    (extracted,) = tmp_path.iterdir()
    symbols = [line.split() for line in run("nm", "-D", extracted).splitlines()]
    address, name = next(
        (int(s[0], 16), s[2]) for s in symbols if s[-1].startswith("__omp") and "_l6" in s[-1]
    )
    result = omptool("dump", "--address", address, program)
    assert f"kernel {name} in image 0 ({X86_64}), loaded at 0" in result.stdout


def test_an_address_of_nothing(program: Path) -> None:
    result = omptool("dump", "--address", "0x3", program)
    assert (result.exit_code, result.stdout) == (1, "no image, entry or descriptor is at 0x3\n")


@pytest.mark.slow
def test_what_changed(program: Path, tmp_path: Path) -> None:
    same = omptool("dump", "--against", program, program)
    assert (same.exit_code, same.stdout) == (0, "no difference in what is offloaded\n")
    run("strip", program, "-o", tmp_path / "bare")
    same = omptool("dump", "--against", program, tmp_path / "bare")
    assert (same.exit_code, same.stdout) == (0, "no difference in what is offloaded\n")
    again = clang_offload(OPENMP, tmp_path / "again")  # from another file: of another inode
    found = omptool("dump", "--against", program, again).stdout
    assert not any(f" {what} " in found for what in ("entry", "kernel", "descriptor"))
    other = clang_offload(OPENMP.replace("table[4]", "table[5]"), tmp_path / "other")
    result = omptool("dump", "--against", program, other)
    assert result.exit_code == 0
    assert omptool("dump", "--exit-code", "--against", program, other).exit_code == 1
    assert omptool("dump", "--exit-code", "--against", program, program).exit_code == 0
    lines = result.stdout.splitlines()
    assert "- entry global table, 32 bytes" in lines
    assert "+ entry global table, 40 bytes" in lines
    assert sum(line.startswith("~ image elf for x86_64") for line in lines) == 1
    assert not any("descriptor" in line for line in lines)


def test_a_file_to_compare_with_that_cannot_be_read(program: Path, tmp_path: Path) -> None:
    result = omptool("dump", "--against", tmp_path / "absent", program)
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1


def test_kernels_and_where_they_come_from(program: Path) -> None:
    text = omptool("dump", "--kernels", program).stdout
    assert "entries:" not in text
    assert text.count("\nmain:6 ") == text.count("\nmain:8 ") == 1


def test_wide_tables_say_where_images_are(program: Path) -> None:
    (image,) = dumped(program)["images"]
    assert image["uri"] == f"file://{program}#offset={image['offset']}&size={image['size']}"
    assert "file://" not in omptool("dump", program).stdout
    wide = omptool("dump", "--wide", program).stdout
    assert image["uri"] in wide
    assert "_main_l6.region_id" in wide


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("__omp_offloading_fe00_20c020_main_l4", "main:4"),
        ("__omp_offloading_fe00_20c020_main_l4_1", "main:4 (1)"),
        ("__omp_offloading_deadf17e_1_a_l1_b_l22", "a_l1_b:22"),
        ("__omp_offloading__fe00_20c020_gg_l4_ctor", "gg:4 (ctor)"),
        ("__omp_offloading_fe00_20c020__ZN1A1fEv_l10", "_ZN1A1fEv:10"),
        ("saxpy", None),
        ("__omp_offloading_main_l4", None),
    ],
)
def test_names_of_kernels(name: str, shown: str | None) -> None:
    decoded = decode(name)
    assert (str(decoded) if decoded else None) == shown


def test_one_document_at_a_time(program: Path) -> None:
    assert omptool("verify", "--sarif", "--json", program).exit_code == 2
    assert omptool("dump", "--exit-code", program).exit_code == 2
    assert omptool("dump", "--address", "1", "--against", program, program).exit_code == 2
    assert omptool("dump", "--against", program, program, program).exit_code == 2
    assert omptool("dump", "--against", program, "--images", program).exit_code == 2
    assert omptool("dump", "--address", "1", "--wide", program).exit_code == 2


@pytest.mark.parametrize("word", ["", "zz", "-1", "0x", "1_0", "0x10000000000000000", "9" * 20])
def test_what_is_no_address(program: Path, word: str) -> None:
    result = omptool("dump", f"--address={word}", program)
    assert result.exit_code == 2
    assert f"{word!r} is not an address; write it as 0x… or in decimal" in result.stderr


def test_addresses_are_answered_in_their_order(program: Path) -> None:
    words = ("--address", "9", "--address", "0x7", "--address", "9", "--address", "8")
    said = omptool("dump", *words, program).stdout
    assert said.splitlines() == [
        f"no image, entry or descriptor is at {n}" for n in ("0x9", "0x7", "0x8")
    ]


@pytest.mark.parametrize("how", ["pipe", "file"])
def test_standard_input(program: Path, how: str) -> None:
    command = [OMPTOOL, "dump", "--json", "-"]
    if how == "pipe":
        done = subprocess.run(
            command, input=program.read_bytes(), stdout=subprocess.PIPE, check=True
        )
    else:
        with program.open("rb") as file:
            done = subprocess.run(command, stdin=file, stdout=subprocess.PIPE, check=True)
    (said,) = document("dump", done.stdout.decode())["files"]
    expected = dumped(program)
    assert (said["path"], said["entries"]) == ("-", expected["entries"])


def test_standard_input_that_is_no_file() -> None:
    done = subprocess.run(
        [OMPTOOL, "dump", "-"], input=b"nothing\n", capture_output=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith(b"Error: standard input: is neither an ELF file")
