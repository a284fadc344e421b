# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Variables of Fortran have their names in LIBOMPTARGET_INFO's lines and in findings.

Without -g, flang writes ";FILE;NAME;LINE;COLUMN;;", with it as clang ";NAME;FILE;…".
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from clangs import compiled
from fixture_programs import OMPTOOL
from flang import by_driver
from places import TESTS
from running import run

pytestmark = pytest.mark.offloads

SOURCE = TESTS / "programs" / "fortran" / "sources" / "names.f90"
# A variable's name is clang's expression, which may contain a slash.
IN_C = """
#include <stdlib.h>
void work(int n, double *a) {
#pragma omp target enter data map(to : a[n/2:n/2])
}
int main(int argc, char **argv) {
  work(20 * argc, malloc(20 * sizeof(double)));
  return 0;
}
"""


def leaked(program: Path, folder: Path) -> str:
    """Return the checker's words about the object that is still mapped at the end."""
    out = folder / "check.json"
    subprocess.run(
        [OMPTOOL, "run", "--check", "--check-json", out, program], capture_output=True, check=True
    )
    (finding,) = json.loads(out.read_text())["findings"]
    assert finding["code"] == "OMP311"
    return str(finding["message"])


@pytest.mark.parametrize("flags", [(), ("-g",)], ids=["plain", "debug"])
def test_names(flags: tuple[str, ...], tmp_path: Path) -> None:
    program = by_driver(tmp_path / "names", [SOURCE], ("-O1", *flags))
    done = run(program, LIBOMPTARGET_INFO="-1")
    assert (done.returncode, done.stdout) == (0, "20.0\n"), done.stderr
    assert "info: to(b(2:n))[36] \n" in done.stderr
    assert "info: tofrom(a(1:n))[40] \n" in done.stderr
    assert "Size=36, Name=b(2:n)\n" in done.stderr
    assert " b(2:n) at names.f90:" in done.stderr
    assert leaked(program, tmp_path).startswith("b(2:n) (36 bytes at 0x")


def test_a_slash_in_an_expression_of_c(tmp_path: Path) -> None:
    (tmp_path / "slash.c").write_text(IN_C)
    program = compiled(tmp_path / "slash.c", tmp_path, "-g", "-Wno-unused-parameter")
    done = run(program, LIBOMPTARGET_INFO="-1")
    assert "info: to(a[n / 2:n / 2])[80] \n" in done.stderr
    assert leaked(program, tmp_path).startswith("a[n")


def test_constructs_have_places(tmp_path: Path) -> None:
    """With -g flang records its module's name in place of the file, and the procedure's."""
    program = by_driver(tmp_path / "names", [SOURCE], ("-O1", "-g"))
    done = run(program, LIBOMPTARGET_INFO="-1")
    assert " at work:7:" in done.stderr
    trace = tmp_path / "trace.json"
    words = [str(OMPTOOL), "run", "--check", "--summary", "--trace", str(trace), str(program)]
    checked = subprocess.run(words, capture_output=True, text=True, check=True)
    assert re.search(r"^  work:7 ", checked.stderr, re.MULTILINE)
    assert re.search(r"names\.f90:7: OMP311 hint: b\(2:n\) ", checked.stderr)
    assert '"source":"work:7:' in trace.read_text()
    assert "FIRModule" not in done.stderr + checked.stderr + trace.read_text()
