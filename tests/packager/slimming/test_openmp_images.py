# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Images of OpenMP's descriptors: those for other devices go, and programs run as before."""

from __future__ import annotations

from pathlib import Path

import linked_programs
import pytest
from edited import GPU, ON_DEVICE, edited, images, on_ours, program
from products import Products
from toolchain import PTX, omptool

from packager.slimming.file import slim_file
from packager.slimming.keeps import named
from packager.slimming.request import Request

pytestmark = pytest.mark.offloads
PAGES = 5 << 12


@pytest.mark.parametrize(("version", "link"), [("19", "pie"), ("22", "relr"), ("16", "lld")])
def test_an_image_for_a_gpu_goes(
    products: Products, tmp_path: Path, version: str, link: str
) -> None:
    app = program(products, version, link)
    (tmp_path / "gpu.ptx").write_text(PTX + "//" + "x" * PAGES)
    add = f"{GPU}:sm_70={tmp_path / 'gpu.ptx'}"
    both = edited(app, tmp_path / "both", "--add", add)
    assert len(images(both)) == 2
    out = tmp_path / "out"
    done = slim_file(both, out, "both", Request(named(["x86_64"])))
    assert done is not None
    assert done.is_changed
    assert done.lacking == ()
    assert images(out) == images(app)
    assert out.stat().st_size == done.after < done.before
    assert on_ours(out) == ON_DEVICE
    again = slim_file(out, None, "out", Request(named(["x86_64"])))
    assert again is not None
    assert not again.is_changed


def test_a_program_of_the_linker(tmp_path: Path) -> None:
    """`omptool link` places PTX and code for the CPU one after the other."""
    objects = linked_programs.program(tmp_path, *linked_programs.TWO_TARGETS)
    app, out = tmp_path / "app", tmp_path / "out"
    linked_programs.linked(app, *linked_programs.driver(), *objects)
    assert len(images(app)) == 2
    printed = linked_programs.printed(app, **linked_programs.DEVICES)
    done = slim_file(app, out, "app", Request(named(["x86_64"])))
    assert done is not None
    assert done.is_changed
    kept = [(triple, data) for triple, data in images(app) if triple.startswith("x86_64")]
    assert images(out) == kept
    assert linked_programs.printed(out, **linked_programs.DEVICES) == printed
    assert omptool("verify", out).exit_code == 0
