# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Libraries of Windows: removed bytes become zeros, and nothing moves."""

from __future__ import annotations

from pathlib import Path
from struct import pack_into

import pytest
from container_plans import planned
from documents import dumped_images
from fatbins import entry, fatbin
from places import DATA
from toolchain import run

from packager.elf.headers import Section
from packager.errors import FormatError
from packager.files.reader import Reader
from packager.formats.host_records import fatbin_wrappers
from packager.hosts.windows.coff_headers import CERTIFICATES, HEADER, PE
from packager.slimming.keeps import named
from packager.slimming.paths import slim
from packager.slimming.request import Request

SOURCE = Path(__file__).parent / "wrapped_coff.s"
SM_80 = Request(named(["sm_80"]))


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """Provide a library with code for sm_80 and sm_90a, and PTX."""
    (tmp_path / "fatbin").write_bytes((DATA / "none.fatbin").read_bytes())
    return linked(tmp_path)


def linked(folder: Path) -> Path:
    triple = "-triple=x86_64-pc-windows-msvc"
    out = folder / "k.obj"
    run("llvm-mc-19", "-filetype=obj", triple, f"-I={folder}", SOURCE, "-o", out)
    dll = folder / "k.dll"
    run("lld-link-19", "-dll", "-noentry", "-noimplib", "-base:0x180000000", f"-out:{dll}", out)
    return dll


def test_a_library(library: Path, tmp_path: Path) -> None:
    before = {image["arch"]: image["offset"] for image in dumped_images(library)}
    assert before.keys() == {"sm_80", "sm_90a", "sm_90"}
    out = tmp_path / "out.dll"
    result = slim(library, out, SM_80)
    assert (result.before, result.after) == (library.stat().st_size, out.stat().st_size)
    (image,) = dumped_images(out)
    assert image["arch"] == "sm_80"
    (file,) = slim(out, out, SM_80).files
    assert not file.is_changed


def test_a_signed_library(library: Path) -> None:
    data = bytearray(library.read_bytes())
    at = data.index(PE) + len(PE) + HEADER.size
    pack_into("<II", data, at + CERTIFICATES.size - 8, 0x200, 8)
    library.write_bytes(data)
    plan, _ = planned(library, "sm_80")
    assert (plan.rewrites, plan.changes) == ((), False)
    assert plan.left_alone[0].reason.startswith("it is signed")


def test_a_wrapper_that_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "fatbin").write_bytes(b"no container" + fatbin(entry(2, bytes(64))))
    plan, _ = planned(linked(tmp_path), "sm_80")
    assert plan.rewrites == ()
    assert plan.left_alone[0].reason.startswith("no container of a known kind is at 0x")


def test_sections_of_wrappers_that_overlap_are_bounded() -> None:
    rows = fatbin_wrappers.WRAPPER.pack(0x466243B1, 1, 0x1000) * 1024
    one = Section(1, ".nvFatBi", 0, 0, 0, 0, len(rows), 0, 0, 8, 0)
    assert len(list(fatbin_wrappers.of_coff([one], Reader(rows)))) == 1024
    with pytest.raises(FormatError, match=r"have 6316032 bytes, and the limit is 6291456"):
        list(fatbin_wrappers.of_coff([one] * 257, Reader(rows)))
