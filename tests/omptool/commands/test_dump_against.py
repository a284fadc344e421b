# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool dump --against`: what changed, by target and kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from clangs import compiled
from documents import document
from places import DATA
from toolchain import omptool, run

OLD = DATA / "none.fatbin"
MOVED = Path(__file__).parent / "sources" / "moved.cpp"
REGISTERS = b"\x04\x2f\x08\x00"  # .nv.info's attribute REGCOUNT, a sized value of 8 bytes


def changes(old: Path, new: Path, *options: str) -> list[dict[str, Any]]:
    result = omptool("dump", "--json", "--against", old, *options, new)
    assert result.exit_code == 0, result.output
    return list(document("dump-against", result.stdout)["changes"])


@pytest.fixture
def thirsty(tmp_path: Path) -> Path:
    """Provide OLD with more registers in the first cubin's kernel."""
    data = bytearray(OLD.read_bytes())
    at = data.index(REGISTERS) + len(REGISTERS) + 4
    assert data[at] == 8
    data[at] = 40
    path = tmp_path / "new.fatbin"
    path.write_bytes(data)
    return path


def test_a_kernel_with_other_resources(thirsty: Path) -> None:
    image, kernel = changes(OLD, thirsty)
    assert (image["what"], image["change"], image["facts"]) == ("image", "changed", [])
    assert (kernel["what"], kernel["change"], kernel["name"]) == ("kernel", "changed", "first")
    assert kernel["targets"] == ["cubin for nvptx64-nvidia-cuda sm_80"]
    assert kernel["facts"] == [{"what": "registers", "old": 8, "new": 40}]
    text = omptool("dump", "--against", OLD, thirsty).stdout
    assert "~ image cubin for nvptx64-nvidia-cuda sm_80: other bytes\n" in text
    assert "~ kernel first (cubin for nvptx64-nvidia-cuda sm_80): registers 8 -> 40\n" in text


def test_only_what_is_asked_for(thirsty: Path) -> None:
    assert changes(OLD, thirsty, "--arch", "sm_90a") == []
    assert len(changes(OLD, thirsty, "--arch", "sm_80")) == 2
    assert len(changes(OLD, thirsty, "--kernel", "fir")) == 2
    assert changes(OLD, thirsty, "--kernel", "*rs", "--arch", "sm_90a") == []


def test_a_guard(thirsty: Path) -> None:
    assert omptool("dump", "--exit-code", "--against", OLD, thirsty).exit_code == 1
    assert omptool("dump", "--against", OLD, thirsty).exit_code == 0
    assert omptool("dump", "--exit-code", "--against", OLD, OLD).exit_code == 0


def test_an_architecture_that_was_dropped() -> None:
    """Compressed or not makes no difference: images are compared as they are loaded."""
    (image,) = changes(OLD, DATA / "zstd.fatbin")
    assert (image["change"], image["name"]) == ("removed", "cubin for nvptx64-nvidia-cuda sm_90a")
    assert {fact["what"]: fact["old"] for fact in image["facts"]}["kernels"] == 1
    assert {fact["new"] for fact in image["facts"]} == {None}
    (back,) = changes(DATA / "zstd.fatbin", OLD)
    assert back["change"] == "added"


def test_kernels_that_come_and_go(tmp_path: Path) -> None:
    head = ".version 7.0\n.target sm_70\n.address_size 64\n"
    for name, kernel in (("old", "_Z5scalev"), ("new", "_Z5shiftv")):
        text = f"{head}.visible .entry {kernel}() {{ ret; }}\n.visible .entry kept() {{ ret; }}\n"
        (tmp_path / f"{name}.ptx").write_text(text)
    found = changes(tmp_path / "old.ptx", tmp_path / "new.ptx")
    kernels = [(c["change"], c["demangled"]) for c in found if c["what"] == "kernel"]
    assert sorted(kernels) == [("added", "shift()"), ("removed", "scale()")]
    text = omptool("dump", "--against", tmp_path / "old.ptx", tmp_path / "new.ptx").stdout
    assert "- kernel scale() (ptx for nvptx64 sm_70)\n" in text


def test_members_of_archives(thirsty: Path, tmp_path: Path) -> None:
    for name, members in (("old.a", "ab"), ("new.a", "ba")):
        for member in "ab":
            source = thirsty if (name, member) == ("new.a", "b") else OLD
            (tmp_path / f"{member}.fatbin").write_bytes(source.read_bytes())
        run("ar", "rcs", tmp_path / name, *(tmp_path / f"{m}.fatbin" for m in members))
    found = changes(tmp_path / "old.a", tmp_path / "new.a")
    assert {change["member"] for change in found} == {"(b.fatbin)"}
    assert len(found) == 2


def test_a_line_above_moves_regions_alone(tmp_path: Path) -> None:
    text = MOVED.read_text()
    old, new = tmp_path / "old.cpp", tmp_path / "new.cpp"
    old.write_text(text)
    new.write_text(text.replace("void work", "// more\nvoid work"))
    programs = compiled(old, tmp_path), compiled(new, tmp_path)
    found = changes(*programs)
    assert {(c["what"], c["change"]) for c in found} == {("kernel", "moved"), ("image", "changed")}
    moved = [(c["was"], c["name"]) for c in found if c["what"] == "kernel"]
    assert moved == [("_Z4workPdi:11", "_Z4workPdi:12"), ("_Z4workPdi:13", "_Z4workPdi:14")]
    text = omptool("dump", "--against", *programs).stdout
    assert "= kernel work:11 -> work:12 (elf for x86_64-pc-linux-gnu)\n" in text
