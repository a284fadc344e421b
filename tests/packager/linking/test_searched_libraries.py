# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The libraries of a link command are found as the linker finds them."""

from __future__ import annotations

from pathlib import Path

import pytest

from packager.linking.host_command import parse
from packager.linking.libraries import linked
from packager.linking.tools import Tools
from packager.look import WHOLE


def found(command: str, tools: Tools) -> list[Path]:
    return [one.path for one, _ in linked(parse(command.split()), tools, WHOLE)]


@pytest.mark.parametrize("name", ["libk.so", "libk.a", "parts.ld", "parts"])
def test_what_a_linker_script_names(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("/* INPUT(no.o) */ GROUP(a.o AS_NEEDED(-lb) nowhere.o)")
    for file in ("c.o", "a.o", "libb.a"):
        (tmp_path / file).touch()
    script = tmp_path / name
    tools = Tools(tmp_path, is_dry=True)
    paths = found(f"cc {tmp_path / 'c.o'} {script} -L{tmp_path}", tools)
    assert [path.name for path in paths] == ["c.o", name, "a.o", "libb.a"]


def test_where_libraries_are_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver's own folders follow LIBRARY_PATH; compilers' folders need an option."""
    for folder, file in (("told", "liba.a"), ("path", "liba.so"), ("path", "libm.a")):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / file).touch()
    asked: list[str] = []
    tools = Tools(tmp_path, asked.append, is_dry=True)
    monkeypatch.setenv("LIBRARY_PATH", f"{tmp_path / 'path'}")
    for word in (f"-L{tmp_path / 'told'}", "-O"):
        paths = found(f"gcc {word} -la -lm -lc -lstdc++", tools)
        first = "told/liba.a" if word != "-O" else "path/liba.so"
        assert [str(path.relative_to(tmp_path)) for path in paths] == [first, "path/libm.a"]
    assert asked == []
    assert found("gcc --sysroot=/s -lnowhere", tools) == []
    assert found("mylink -lnowhere", tools) == []
    assert asked == ["gcc --sysroot=/s -print-search-dirs"]
