# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Clang 23's device code looks up addresses before virtual calls: `link` adds the function."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import running
from clangs import INSTALLED, compiler, libraries, made, own_runtime, tool
from fixture_programs import X86_64
from linked_programs import driver, linked, printed, program
from places import TESTS

from packager.hosts.load import load
from packager.linking.cpu import indirect_calls

OPENMP = TESTS / "programs" / "openmp"
VIRTUAL, CLASSES = OPENMP / "linked" / "virtual.cpp", OPENMP / "classes.cpp"
NEW = "23"


CODE = {
    "x86_64": [
        *("endbr64", "movq (%rip), %rax", "R_X86_64_GOTPCREL omptool_own_address-0x4"),
        *("testq %rax, %rax", "je 0x12", "jmpq *%rax", "movq %rdi, %rax", "retq"),
    ],
    "aarch64": [
        *("bti c", "adrp x16, 0x0", "R_AARCH64_ADR_GOT_PAGE omptool_own_address"),
        *("ldr x16, [x16]", "R_AARCH64_LD64_GOT_LO12_NC omptool_own_address"),
        *("cbz x16, 0x14", "br x16", "ret"),
    ],
}


def built(folder: Path, source: Path, *flags: str) -> Path:
    quiet = ("-Wno-openmp-mapping", "-Wno-unused-command-line-argument")
    return made(folder / f"{source.stem}.o", *compiler(NEW, source), *quiet, *flags, "-c", source)


def function(kept: Path) -> tuple[int, str]:
    """Return size and symbol letter of the function in the image that a link kept."""
    (image,) = kept.glob("*.image")
    shown = subprocess.run(["nm", "-S", image], capture_output=True, text=True, check=True).stdout
    (line,) = (line for line in shown.splitlines() if line.endswith(indirect_calls.LOOKUP))
    _, size, kind, _ = line.split()
    return int(size, 16), kind


@pytest.mark.slow
@pytest.mark.offloads
@pytest.mark.parametrize("release", [INSTALLED, "22"])
def test_any_runtime_will_do(release: str, tmp_path: Path) -> None:
    """No LLVM runtime up to 23 has the function."""
    out, folder = tmp_path / "app", f"-L{libraries(release).split(':')[-1]}"
    words = (*tool(NEW, "clang++"), built(tmp_path, VIRTUAL), folder, "-lomp", "-lomptarget")
    said = linked(out, *words, options=["--save-temps", tmp_path / "kept"])
    whose = f"the runtime of LLVM {release}, which the program needs, "
    assert said.startswith(f"Warning: OMP104: {whose}ends the program: ")
    _, kind = function(tmp_path / "kept")
    assert kind == "t"  # nobody else finds it
    done = running.run(out, **running.MANDATORY)
    assert (done.returncode, done.stdout, done.stderr) == (0, "49 4 1\n", "")


@pytest.mark.slow
@pytest.mark.offloads
def test_they_run_on_llvms_runtime_of_23(tmp_path: Path) -> None:
    """Intel's runtime does not map the virtual table: the last number is 0."""
    out = tmp_path / "app"
    words = (*driver(NEW), built(tmp_path, VIRTUAL), "-lstdc++", "-lomp", "-lomptarget")
    assert linked(out, *words) == ""
    assert printed(out, LD_LIBRARY_PATH=own_runtime(NEW)).startswith("49 4 ")
    done = running.run(out, **running.MANDATORY)
    assert (done.returncode, done.stdout, done.stderr) == (0, "49 4 1\n", "")


def test_a_definition_of_the_users_is_taken(tmp_path: Path) -> None:
    own = tmp_path / "own.c"
    own.write_text(f"void *{indirect_calls.LOOKUP}(void *p) {{ static int n; n++; return p; }}\n")
    made(tmp_path / "own.o", "gcc", "-fPIC", "-c", own)
    options = ["--save-temps", tmp_path / "kept", "--device-linker", tmp_path / "own.o"]
    linked(tmp_path / "app", *driver(NEW), built(tmp_path, VIRTUAL), "-lstdc++", options=options)
    size, _ = function(tmp_path / "kept")
    assert size > len(indirect_calls.CODE["x86_64"].bytes)


def test_others_get_none(tmp_path: Path) -> None:
    options = ["--save-temps", tmp_path / "kept"]
    linked(tmp_path / "app", *driver(), *program(tmp_path), options=options)
    assert not list((tmp_path / "kept").glob("*indirect_calls*"))


@pytest.mark.parametrize("triple", [X86_64, "aarch64-unknown-linux-gnu"])
def test_the_function_asks_the_worker_or_gives_back_what_it_is_given(
    triple: str, tmp_path: Path
) -> None:
    (path,) = indirect_calls.written(triple, tmp_path)
    assert load(path).machine == triple.split("-", maxsplit=1)[0]
    shown = subprocess.run(
        [*tool(INSTALLED, "llvm-objdump"), "-dr", "--no-show-raw-insn", path],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    lines = (line.split("#")[0].split("<")[0].split() for line in shown.splitlines())
    assert [" ".join(words[1:]) for words in lines if words[1:]][2:] == CODE[
        triple.split("-", maxsplit=1)[0]
    ]


def test_of_machines_that_are_not_known_the_linker_speaks(tmp_path: Path) -> None:
    assert indirect_calls.written("riscv64-unknown-linux-gnu", tmp_path) == []
