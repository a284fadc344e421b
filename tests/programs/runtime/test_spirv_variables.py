# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exported variables of SPIR-V modules: bundle, verify and doctor agree with the driver."""

from __future__ import annotations

from pathlib import Path

import opencl
import pytest
from doctoring import diagnosis, predicted
from documents import dumped, dumped_images
from fixture_programs import OMPTOOL, call, compile_host, lower, run, runtime_flags
from linking import link
from places import TESTS
from portable import SPIRV
from products import Products
from toolchain import omptool

IR = TESTS / "programs" / "runtime" / "spirv_variables.ll"
SUM = "42\n"  # sum of the device's values


@pytest.fixture(scope="module")
def program(products: Products) -> Path:
    def build(folder: Path) -> Path:
        image = lower(IR, folder / "image.spv", triple=SPIRV)
        host = compile_host(IR.with_suffix(".c"), folder / "host.o")
        call(OMPTOOL, "bundle", host, "--image", f"{SPIRV}={image}", "-o", folder / "bundled.o")
        return link(folder / "app", folder / "bundled.o", flags=runtime_flags())

    return products.made("spirv-variables", build)


def test_it_runs_on_the_driver(program: Path, tmp_path: Path) -> None:
    vendors = opencl.vendors(tmp_path)
    done = run(program, OMP_TARGET_OFFLOAD="MANDATORY", OMPTOOL_PLUGINS="opencl", **vendors)
    assert (done.stdout, done.stderr) == (SUM, "")


def test_each_entry_is_present(program: Path) -> None:
    assert [entry["images"] for entry in dumped(program)["entries"]] == [["present"]] * 3
    assert omptool("verify", program).exit_code == 0
    (image,) = dumped_images(program)
    assert image["kernels"] == ["count"]
    assert image["globals"] == [{"name": "calls", "size": 8}, {"name": "weights", "size": 16}]


def test_doctor_predicts_the_device(program: Path, tmp_path: Path) -> None:
    said = diagnosis(program, OMPTOOL_PLUGINS="opencl", **opencl.vendors(tmp_path))
    assert predicted(said) == "0\n"


def test_another_size_is_found(tmp_path: Path) -> None:
    text = IR.read_text().replace("@weights = global [4 x i32]", "@weights = global [4 x i64]")
    text = text.replace("[i32 1, i32 2, i32 3, i32 4]", "[i64 1, i64 2, i64 3, i64 4]")
    (tmp_path / "other.ll").write_text(text)
    image = lower(tmp_path / "other.ll", tmp_path / "other.spv", triple=SPIRV)
    host = compile_host(IR.with_suffix(".c"), tmp_path / "host.o")
    words = ["--image", f"{SPIRV}={image}", "-o", tmp_path / "bundled.o"]
    done = omptool("bundle", host, *words)
    assert done.exit_code == 1
    assert "OMP109: global weights has 16 bytes in the host, 32 in image 0" in done.stderr


def test_what_is_not_exported_is_missing(tmp_path: Path) -> None:
    image = lower(IR, tmp_path / "image.spv", "--entry", "count", triple=SPIRV)
    host = compile_host(IR.with_suffix(".c"), tmp_path / "host.o")
    words = ["--image", f"{SPIRV}={image}", "-o", tmp_path / "bundled.o"]
    done = omptool("bundle", host, *words)
    assert done.exit_code == 1
    assert "OMP105: global calls is missing in image 0" in done.stderr
