# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Links of clang's OpenMP code for OpenCL devices: errors and warnings."""

from __future__ import annotations

from pathlib import Path

import pytest
from clangs import tool
from click.testing import Result
from on_opencl import FOR_DEVICES
from toolchain import omptool, run

from packager.checks import verify
from packager.compiling.targets import Target, offloading
from packager.hosts.load import load

REGION = """
{before}
int main(void) {{
  int sum = 0;
#pragma omp target map(tofrom: sum)
  {{ {body} }}
  return sum;
}}
"""
RIGHT = ("-mllvm", "-openmp-opt-disable")
MARKED = ("-Xclang", "-default-function-attr", "-Xclang", "omptool-openmp-opt=off")


def compiled(
    folder: Path, body: str = "sum = 1;", *flags: str, before: str = "", version: str = "23"
) -> Path:
    """Compile an object with a region for OpenCL devices."""
    source, out = folder / "region.c", folder / "region.o"
    source.write_text(REGION.format(before=before, body=body))
    words = flags or ("-foffload-lto",)
    clang = (*tool(version), "-O1", "-w", *FOR_DEVICES, "-nogpulib", *words)
    run(*clang, "-c", source, "-o", out)
    return out


def linked(obj: Path) -> Result:
    return omptool("link", "--", "clang-19", "-fopenmp", obj, "-o", obj.with_name("app"))


def test_the_image_is_spirv_with_nothing_undefined(tmp_path: Path) -> None:
    obj = compiled(tmp_path)
    assert linked(obj).exit_code == 0
    (image,) = load(obj.with_name("app")).images
    assert (image.kind, image.triple) == ("spirv", "spirv64-intel-unknown")
    undefined = image.contents.links.undefined
    assert [name for name in undefined if not name.startswith("__spirv_BuiltIn")] == []


def test_objects_with_spirv_are_refused(tmp_path: Path) -> None:
    obj = compiled(tmp_path, "sum = 1;", "-fno-offload-lto", version="22")
    done = linked(obj)
    assert done.exit_code == 2
    what = "its device code for spirv64-intel-unknown is SPIR-V, which cannot be linked with a "
    assert f"{what}device library: compile with -foffload-lto" in done.stderr


def test_an_undefined_function_is_named(tmp_path: Path) -> None:
    obj = compiled(tmp_path, "sum = missing(sum);", before="int missing(int);")
    done = linked(obj)
    assert done.exit_code == 1
    said = f"{obj} uses missing, which nothing defines for OpenCL devices"
    assert said in done.stderr
    assert not obj.with_name("app").exists()


def test_a_call_by_address_is_named(tmp_path: Path) -> None:
    before = """
#pragma omp declare target
static int one(void) { return 1; }
static int two(void) { return 2; }
int (*volatile chosen)(void) = one;
int (*volatile other)(void) = two;
#pragma omp end declare target
"""
    done = linked(compiled(tmp_path, "sum = chosen() + other();", before=before))
    assert done.exit_code == 1
    assert "calls a function by its address: SPIR-V has no such calls" in done.stderr


@pytest.mark.parametrize(
    ("version", "flags", "is_found"),
    [
        ("22", ("-foffload-lto",), True),
        ("22", ("-foffload-lto", *RIGHT, *MARKED), False),
        ("22", ("-foffload-lto", "-O0"), False),
        ("22", ("-fno-offload-lto",), True),
        ("23", ("-foffload-lto",), False),
    ],
)
def test_wrong_code_of_clang_22_is_found(
    tmp_path: Path, version: str, flags: tuple[str, ...], is_found: bool
) -> None:
    obj = compiled(tmp_path, "sum = 1;", *flags, version=version)
    codes = [finding.code for finding in verify(load(obj))]
    assert ("OMP136" in codes) is is_found


def test_a_link_warns_of_it(tmp_path: Path) -> None:
    done = linked(compiled(tmp_path, version="22"))
    assert done.exit_code == 0
    assert "OMP136: clang 22 drops stores of functions that regions call" in done.stderr


def test_a_damaged_module_is_no_wrong_code(tmp_path: Path) -> None:
    obj = compiled(tmp_path, version="22")
    (image,) = load(obj).images
    data = bytearray(obj.read_bytes())
    middle = image.offset + image.size // 4
    data[middle : middle + 64] = b"\xff" * 64
    obj.write_bytes(data)
    assert "OMP136" not in [finding.code for finding in verify(load(obj))]


def test_cc_keeps_clang_22_from_it() -> None:
    target = Target("spirv64-intel-unknown")
    words = offloading([target], 22)
    assert "-mllvm=-openmp-opt-disable" in words
    assert words[words.index("-mllvm=-openmp-opt-disable") - 1].endswith(target.triple)
    assert "-mllvm=-openmp-opt-disable" not in offloading([target], 23)


def test_destructors_are_reported(tmp_path: Path) -> None:
    source = tmp_path / "global.cpp"
    source.write_text(
        "struct Held { int v; Held(); ~Held(); };\n"
        "#pragma omp declare target\n"
        'extern "C" int omp_get_num_teams(void);\n'
        "Held::Held() { v = omp_get_num_teams(); }\nHeld::~Held() { v = 0; }\nHeld held;\n"
        "#pragma omp end declare target\n"
        "int main() {\n#pragma omp target\n held.v += 1;\n}\n"
    )
    out = tmp_path / "global.o"
    clang = (*tool("22", "clang++"), "-O1", *FOR_DEVICES, "-nogpulib", "-foffload-lto")
    run(*clang, "-c", source, "-o", out)
    done = omptool("link", "--", "clang++-19", "-fopenmp", out, "-o", tmp_path / "app")
    assert done.exit_code == 0, done.stderr
    assert "destructors of device variables do not run on OpenCL devices" in done.stderr
    (image,) = load(tmp_path / "app").images
    kernels = [symbol.name for symbol in image.contents.symbols if symbol.kind == "kernel"]
    assert "__omptool_constructors" in kernels
