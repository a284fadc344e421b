# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Images of programs of every clang, linked in every way, changed and put back."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import edited
import lief
import pytest
from edited import GPU, ON_DEVICE, ON_HOST, REST, SOME, images, on_llvms, on_ours
from fixture_programs import build_once
from fixture_programs import run as run_fixture
from places import FIXTURES
from products import Products
from toolchain import omptool

BUILD_ID = re.compile(r"its build-id changes from [0-9a-f]{40} to ([0-9a-f]{40})")
MANDATORY = {"OMP_TARGET_OFFLOAD": "MANDATORY"}
EACH = pytest.mark.parametrize(
    ("version", "link"),
    [*SOME, *(pytest.param(*one, marks=pytest.mark.exhaustive) for one in REST)],
)

pytestmark = pytest.mark.slow


def runs(path: Path, version: str) -> None:
    """Check that the region runs on the device on LLVM's runtime and on ours."""
    assert on_llvms(path, version) == ON_DEVICE
    assert on_ours(path, **MANDATORY) == ON_DEVICE


@EACH
def test_an_image_of_any_size_takes_the_place_of_another(
    products: Products, tmp_path: Path, version: str, link: str
) -> None:
    app = edited.program(products, version, link)
    before = images(app)
    large = app.with_name("large.so")
    out = edited.edited(app, tmp_path / "out", "--replace", f"0={large}")
    assert [data for _, data in images(out)] == [large.read_bytes()]
    assert on_llvms(out, version) == ON_DEVICE
    # The record stays in place, where the loader makes it read-only.
    assert b".omptool.images" not in out.read_bytes()
    own = app.with_name("own.so")
    back = edited.edited(out, tmp_path / "back", "--replace", f"x86_64-pc-linux-gnu={own}")
    assert [data for _, data in images(back)] == [data for _, data in before]
    assert on_llvms(back, version) == ON_DEVICE
    # The second edit replaces the parts of the first.
    assert back.stat().st_size < out.stat().st_size


@pytest.mark.offloads
@EACH
def test_images_are_added_put_in_order_and_removed(
    products: Products, tmp_path: Path, version: str, link: str
) -> None:
    app = edited.program(products, version, link)
    before = images(app)
    ptx = app.with_name("gpu.ptx")
    out = tmp_path / "out"
    edited.edited(app, out, "--add", f"{GPU}:sm_70={ptx}", "--order", "1,0")
    assert images(out) == [(GPU, ptx.read_bytes()), *before]
    again = edited.edited(app, tmp_path / "again", "--add", f"{GPU}:sm_70={ptx}", "--order", "1,0")
    assert again.read_bytes() == out.read_bytes()
    runs(out, version)
    undone = edited.edited(out, tmp_path / "undone", "--remove", "0")
    assert images(undone) == before
    runs(undone, version)
    none = edited.edited(out, tmp_path / "none", "--remove", "1", "--remove", GPU)
    assert images(none) == []
    assert on_llvms(none, version) == on_ours(none) == ON_HOST
    own = app.with_name("own.so")
    refilled = edited.edited(none, tmp_path / "refilled", "--add", f"x86_64-pc-linux-gnu={own}")
    assert [data for _, data in images(refilled)] == [data for _, data in before]
    runs(refilled, version)


@EACH
def test_other_tools_and_another_edit_leave_it_running(
    products: Products, tmp_path: Path, version: str, link: str
) -> None:
    app = edited.program(products, version, link)
    large, ptx = app.with_name("large.so"), app.with_name("gpu.ptx")
    out = edited.edited(app, tmp_path / "out", "--replace", f"0={large}")
    wanted = {GPU: ptx.read_bytes(), "x86_64-pc-linux-gnu": large.read_bytes()}
    for changed in (
        edited.stripped(out, "strip"),
        edited.stripped(out, "llvm-strip-19"),
        edited.patched(out),
    ):
        assert on_llvms(changed, version) == ON_DEVICE, changed
        again = edited.edited(changed, changed, "--add", f"{GPU}:sm_70={ptx}")
        assert dict(images(again)) == wanted
        assert on_llvms(again, version) == ON_DEVICE, changed
        assert on_llvms(edited.stripped(again, "strip"), version) == ON_DEVICE


CODE_AND_DATA = {".init", ".text", ".rodata", ".data", ".data.rel.ro", ".bss", ".eh_frame", ".got"}
CHANGED = {".data.rel.ro", ".rodata", ".bss"}  # the descriptor is in one of them
IN_NO_FILE = {".bss", ".tbss", ".relro_padding"}
WRITTEN = lief.ELF.Section.FLAGS.WRITE
RECORDS = 8  # four pointers for each of two images


@pytest.mark.parametrize(("version", "link"), [("19", "pie"), ("22", "relr"), ("14", "no-pie")])
def test_lief_reads_the_same_file(
    products: Products, tmp_path: Path, version: str, link: str
) -> None:
    """Another reader finds no section outside its segment, and each relocation's word."""
    app = edited.program(products, version, link)
    out = edited.edited(app, tmp_path / "out", "--add", f"{GPU}={app.with_name('gpu.ptx')}")
    before, after = lief.ELF.parse(str(app)), lief.ELF.parse(str(out))
    assert before is not None
    assert after is not None
    kept = {s.name: s for s in after.sections}
    for section in before.sections:
        if section.virtual_address and section.name in CODE_AND_DATA:
            assert kept[section.name].virtual_address == section.virtual_address
            assert section.name in CHANGED or kept[section.name].content == section.content
    loads = [s for s in after.segments if s.type == lief.ELF.Segment.TYPE.LOAD]
    for section in after.sections:
        if section.virtual_address and section.name not in IN_NO_FILE:
            assert any(_holds(load, section) for load in loads), section.name
    assert kept[".omptool.images"].has(WRITTEN) == ("no-pie" not in link)
    added = len(list(after.relocations)) - len(list(before.relocations))
    assert added == (0 if "no-pie" in link else RECORDS)


def _holds(load: lief.ELF.Segment, section: lief.ELF.Section) -> bool:
    """Return whether a section is in a segment, at the same place in both."""
    inside = section.virtual_address - load.virtual_address
    return (
        0 <= inside <= load.virtual_size - section.size
        and section.offset - load.file_offset == inside
    )


@pytest.mark.offloads
@pytest.mark.parametrize("name", ["saxpy", "proposal", "shared_library", "two_images"])
def test_what_bundle_has_made_is_edited(products: Products, tmp_path: Path, name: str) -> None:
    """The documents' programs: records of 2013 have no bounds of entries."""
    app = build_once(name, products)
    given = app.with_name("libscale.so") if name == "shared_library" else app
    before = images(given)
    own = tmp_path / "own.so"
    own.write_bytes(before[0][1] + bytes(50_000))
    folder = tmp_path / "changed"
    shutil.copytree(app.parent, folder)
    changed, target = folder / given.name, "x86_64-pc-linux-gnu"
    edited.edited(given, changed, "--replace", f"0={own}")
    edited.edited(changed, changed, "--add", f"aarch64-linux-gnu={own}", "--remove", target)
    edited.edited(changed, changed, "--replace", f"aarch64-linux-gnu={own}")
    options = ["--add", f"{target}={own}", "--remove", "aarch64-linux-gnu"]
    edited.edited(changed, changed, *options)
    assert len(images(changed)) == len(before)
    assert dict(images(changed))[target] == own.read_bytes()
    done = run_fixture(folder / app.name)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (FIXTURES / name / "expected.txt").read_text()


def test_each_result_has_a_build_id_of_its_own(products: Products, tmp_path: Path) -> None:
    """Equal images in other places or with other names change the build-id as well."""
    app = edited.program(products, "19", "pie")
    own, ptx = app.with_name("own.so"), app.with_name("gpu.ptx")
    changes = [
        ("--order", "0"),
        ("--replace", f"0={own}"),
        ("--add", f"{GPU}:sm_70={ptx}"),
        ("--add", f"{GPU}:sm_80={ptx}"),
        ("--add", f"{GPU}:sm_80={ptx}", "--order", "1,0"),
    ]
    found = []
    for change in changes:
        done = omptool("edit", app, *change, "--force", "-o", tmp_path / "out")
        found += BUILD_ID.findall(done.stderr)
    assert len(set(found)) == len(changes)


def test_what_is_not_copied_or_void_is_said(products: Products, tmp_path: Path) -> None:
    """Bytes after the file stay at its end; setuid bits are dropped."""
    app = edited.program(products, "19", "pie")
    signed, out = tmp_path / "signed", tmp_path / "out"
    signed.write_bytes(app.read_bytes() + b"a signature")
    signed.chmod(0o4750)
    done = omptool("edit", signed, "--replace", f"0={app.with_name('large.so')}", "-o", out)
    assert done.exit_code == 0, done.output
    assert out.read_bytes().endswith(b"a signature")
    assert out.stat().st_mode & 0o7777 == 0o750
    assert "11 bytes are kept behind the ELF file; a signature there is void" in done.stderr
    assert "the result loses set-user-ID and set-group-ID" in done.stderr
    (new,) = BUILD_ID.findall(done.stderr)
    assert bytes.fromhex(new) in out.read_bytes()
