# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Instructions without a line get a near one."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from packager.dwarf import containing
from packager.elf import headers
from packager.files.reader import open_reader

SOURCE = """\
void kernel(volatile int* x) {
  x[0] = 1;
  x[1] = 2;
  x[2] = 3;
}
"""


def lines(tmp_path: Path, moved: int) -> list[int | None]:
    """Return the lines of the function's bytes; the compiler has written 0 in place of `moved`."""
    (tmp_path / "loop.c").write_text(SOURCE)
    clang = ["clang-19", "-g", "-O1", "-fPIC"]
    assembly, library = tmp_path / "loop.s", tmp_path / "loop.so"
    subprocess.run([*clang, "-S", tmp_path / "loop.c", "-o", assembly], check=True)
    text, count = re.subn(rf"(\.loc\t\d+ ){moved} \d+.*", r"\1 0 0", assembly.read_text())
    assert count
    assembly.write_text(text)
    subprocess.run(["clang-19", "-shared", assembly, "-o", library], check=True)
    symbols = subprocess.run(["nm", "-S", library], capture_output=True, text=True, check=True)
    begin, size = next(
        (int(words[0], 16), int(words[1], 16))
        for words in map(str.split, symbols.stdout.splitlines())
        if words[-1] == "kernel"
    )
    with open_reader(library) as data:
        found = dict(containing.places(headers.read(data), range(begin, begin + size)))
    each = [found[at].line if at in found else None for at in range(begin, begin + size)]
    return list(dict.fromkeys(each))


def test_line_0_is_the_line_before(tmp_path: Path) -> None:
    assert lines(tmp_path, moved=3) == [2, 4, 5]
    assert lines(tmp_path, moved=4) == [2, 3, 5]
    assert lines(tmp_path, moved=2)[-3:] == [3, 4, 5]
