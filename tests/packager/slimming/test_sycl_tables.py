# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Images of SYCL's tables, which a program passes to a runtime."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from container_plans import planned
from documents import dumped_images
from sycl import Part, library, ocloc, opencl_elf, packed, spirv, zebin
from toolchain import compile_c, omptool, run

from packager.errors import FindingError
from packager.slimming.file import slim_file
from packager.slimming.keeps import named
from packager.slimming.proof import prove
from packager.slimming.request import Request

SOURCE = Path(__file__).parent / "sycl_runtime.c"
PAGES = 5 << 12


def native(folder: Path) -> Part:
    """Make native code and SPIR-V for the target spir64_gen, of some pages."""
    members = [
        ("64.12.60.7", zebin(folder) + bytes(PAGES)),
        ("generic_ir", opencl_elf(spirv("first"))),
    ]
    return Part(ocloc(members), "spir64_gen")


def slimmed(path: Path, keep: str) -> Path:
    out = path.with_name(f"slim-{path.name}")
    done = slim_file(path, out, path.name, Request(named([keep])))
    assert done is not None
    assert done.is_changed
    assert done.lacking == ()
    again = slim_file(out, None, out.name, Request(named([keep])))
    assert again is None or not again.is_changed
    return out


def registered(path: Path, folder: Path) -> list[str]:
    """Return the images that a library registers, a line each, and their number."""
    runtime = compile_c(SOURCE.read_text(), folder / "librt.so", "-shared", "-fPIC")
    main = compile_c("int main(void) { return 0; }", folder / "main.o", "-c")
    program = folder / f"run-{path.stem}"
    run("gcc", main, "-Wl,--no-as-needed", path, runtime, "-o", program)
    libraries = {"LD_LIBRARY_PATH": str(folder), "LD_PRELOAD": str(runtime)}
    return subprocess.run(
        [program], env=libraries, check=True, capture_output=True, text=True
    ).stdout.splitlines()


@pytest.mark.parametrize("flags", [(), ("-Wl,-z,pack-relative-relocs",)])
@pytest.mark.parametrize(("keep", "stay"), [("spir64", [1, 2]), ("spir64_gen", [0]), ("sm_90", [])])
def test_a_table_at_its_ends(
    tmp_path: Path, keep: str, stay: list[int], flags: tuple[str, ...]
) -> None:
    """The count decreases, and the pointer refers to the first row that stays."""
    parts = [native(tmp_path), Part(spirv("first")), packed(spirv("second"))]
    path = library(tmp_path, parts, flags=flags)
    before = registered(path, tmp_path)
    out = slimmed(path, keep)
    assert registered(out, tmp_path) == [*(before[n] for n in stay), str(len(stay))]
    targets = {image["triple"].split("-")[0] for image in dumped_images(out)}
    assert targets == {"spir64": {"spir64"}, "spir64_gen": {"spir64_gen"}}.get(keep, set())
    if stay:
        assert omptool("verify", out).exit_code == 0
    if keep == "spir64":
        assert out.stat().st_size <= path.stat().st_size - PAGES + (1 << 13)


def test_a_row_between_others(tmp_path: Path) -> None:
    """The row stays and is named, because rows are end to end."""
    parts = [Part(spirv("first")), native(tmp_path), packed(spirv("second"))]
    plan, _ = planned(library(tmp_path, parts), "spir64")
    assert not plan.changes
    (left,) = plan.left_alone
    assert left.reason == "it stands between images that stay, and rows of a table are end to end"


def test_native_code_of_another_device(tmp_path: Path) -> None:
    """SPIR-V stays beside native code: the kernels of both are not compared."""
    alone = Part(zebin(tmp_path) + bytes(PAGES), "spir64_gen")
    path = library(tmp_path, [alone, Part(spirv("first"))])
    assert not planned(path, "12.60.7")[0].changes
    plan, _ = planned(path, "12.70.4")
    assert [share.target for share in plan.kept] == ["spir64"]


def test_a_result_without_an_image(tmp_path: Path) -> None:
    parts = [native(tmp_path), Part(spirv("first")), packed(spirv("second"))]
    path = library(tmp_path, parts)
    out = slimmed(path, "spir64_gen")
    prove(path, out, named(["spir64_gen"]))
    with pytest.raises(FindingError, match="spir64 would load other images of SYCL's tables"):
        prove(path, out, named(["spir64"]))
