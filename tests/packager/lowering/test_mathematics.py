# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every function of <math.h> that docs/kernels.md lists, on every GPU."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from lowered import NVPTX, attempt
from places import ROOT

from packager.lowering.libdevice import libdevice

NATIVE = {
    *("ceil", "copysign", "fabs", "floor", "fma", "fmax", "fmin", "llrint", "llround", "lrint"),
    *("lround", "nearbyint", "rint", "round", "sqrt", "trunc"),
}
TWO = {
    "atan2",
    "copysign",
    "fdim",
    "fmax",
    "fmin",
    "fmod",
    "hypot",
    "nextafter",
    "pow",
    "remainder",
}
TO_LONG = {"llrint", "llround", "lrint", "lround"}
INTRINSICS = [
    *("acos", "asin", "atan", "atan2", "cos", "cosh", "exp", "exp10", "exp2", "log", "log10"),
    *("log2", "pow", "sin", "sinh", "tan", "tanh"),
    *(
        "ceil",
        "copysign",
        "fabs",
        "floor",
        "fma",
        "maxnum",
        "minnum",
        "rint",
        "round",
        "sqrt",
        "trunc",
    ),
]


def documented() -> list[str]:
    """Return the functions in the page's table."""
    text = (ROOT / "docs" / "kernels.md").read_text().partition("## Mathematics")[2]
    table = "\n".join(line for line in text.partition("\n## ")[0].splitlines() if "|" in line)
    return re.findall(r"`(\w+)`", table)


def signature(name: str, type_: str) -> tuple[str, str, list[str]]:
    """Return result, name and parameters of the function for that type."""
    own = name + ("f" if type_ == "float" else "")
    others = {
        "fma": [type_] * 3,
        "ldexp": [type_, "i32"],
        "scalbn": [type_, "i32"],
        "frexp": [type_, "ptr"],
        "modf": [type_, "ptr"],
        "sincos": [type_, "ptr", "ptr"],
    }
    parameters = others.get(name, [type_, type_] if name in TWO else [type_])
    results = {"ilogb": "i32", "sincos": "void"}
    return results.get(name, "i64" if name in TO_LONG else type_), own, parameters


def module(functions: list[tuple[str, str, list[str]]]) -> str:
    """Return a kernel that calls each function on its arguments, and stores the results."""
    lines = []
    declarations = []
    for number, (result, name, parameters) in enumerate(functions):
        values = {"float": "%f", "double": "%d", "i32": "3", "ptr": f"%at{number}"}
        arguments = ", ".join(f"{type_} {values[type_]}" for type_ in parameters)
        lines.append(f"  %at{number} = getelementptr i64, ptr %out, i64 {number}")
        call = f"call {result} @{name}({arguments})"
        if result == "void":
            lines.append(f"  {call}")
        else:
            lines.append(f"  %v{number} = {call}")
            lines.append(f"  store {result} %v{number}, ptr %at{number}")
        declarations.append(f"declare {result} @{name}({', '.join(parameters)})")
    head = "define void @k(ptr %out, ptr %in) {\n  %d = load double, ptr %in\n"
    body = "\n".join(["  %f = fptrunc double %d to float", *lines, "  ret void", "}"])
    return "\n".join([head + body, *declarations, ""])


def all_of(names: list[str]) -> str:
    return module([signature(name, type_) for name in names for type_ in ("double", "float")])


def intrinsics() -> str:
    of = {"maxnum": "fmax", "minnum": "fmin"}
    functions = []
    for name in INTRINSICS:
        for type_, suffix in (("double", "f64"), ("float", "f32")):
            result, _, parameters = signature(of.get(name, name), type_)
            functions.append((result, f"llvm.{name}.{suffix}", parameters))
    return module(functions)


def lowered(folder: Path, ir: str, triple: str, *options: str) -> Path:
    result = attempt(folder, ir, *options, triple=triple)
    assert result.exit_code == 0, result.output
    return folder / "out"


def test_the_document_lists_them_all() -> None:
    assert set(documented()) >= NATIVE
    assert len(documented()) == len(set(documented())) > 50


@pytest.mark.skipif(not libdevice(), reason="libdevice is not on this machine")
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_nvidias_have_them(tmp_path: Path, level: str) -> None:
    for ir in (all_of(documented()), intrinsics()):
        assert ".extern" not in lowered(tmp_path, ir, NVPTX, level).read_text()


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_opencls_have_them(tmp_path: Path, level: str) -> None:
    for ir in (all_of(documented()), intrinsics()):
        image = lowered(tmp_path, ir, "spirv64", level)
        subprocess.run(["spirv-val", "--target-env", "spv1.2", str(image)], check=True)


def test_amds_have_those_that_need_no_library(tmp_path: Path) -> None:
    lowered(tmp_path, all_of(sorted(NATIVE)), "amdgcn")
    others = [name for name in documented() if name not in NATIVE]
    result = attempt(tmp_path, all_of(others), triple="amdgcn")
    assert result.exit_code == 2
    named = result.stderr.partition("can have: ")[2].strip().split(", ")
    assert set(named) == {name + ending for name in others for ending in ("", "f")}
