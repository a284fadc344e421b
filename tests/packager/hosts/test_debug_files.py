# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files of debug information alone, as distributions ship them beside programs."""

from __future__ import annotations

from pathlib import Path

from documents import document
from places import DATA
from toolchain import compile_c, omptool, run


def test_debug_information_alone(tmp_path: Path) -> None:
    """`objcopy --only-keep-debug` leaves sections of offload code without their bytes."""
    data = DATA / "none.fatbin"
    source = f'__asm__(".section .nv_fatbin,\\"a\\"; .incbin \\"{data}\\"; .previous");'
    program = compile_c(source + "int main(void) { return 0; }", tmp_path / "app", "-g")
    run("objcopy", "--only-keep-debug", program, tmp_path / "app.debug")
    for command in ("dump", "verify", "doctor"):
        result = omptool(command, tmp_path / "app.debug")
        assert (result.exit_code, result.stderr) == (0, "")
        assert result.stdout.endswith("app.debug: debug information alone\n")
    result = omptool("doctor", "--json", tmp_path / "app.debug")
    assert result.exit_code == 0
    assert document("doctor", result.stdout)["entries"] == []
