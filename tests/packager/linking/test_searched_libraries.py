"""Which files a link command means."""

from __future__ import annotations

from pathlib import Path

import pytest

from packager.linking.host_command import parse
from packager.linking.libraries import linked
from packager.linking.tools import Tools


def names(folder: Path, command: str) -> list[str]:
    tools = Tools(folder, is_dry=True)
    return [one.path.name for one in linked(parse(command.split()), tools)]


@pytest.mark.parametrize("name", ["libk.so", "libk.a", "parts.ld", "parts"])
def test_what_a_linker_script_names(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("/* INPUT(no.o) */ GROUP(a.o AS_NEEDED(-lb) nowhere.o)")
    for file in ("a.o", "libb.a"):
        (tmp_path / file).touch()
    script = tmp_path / name
    assert names(tmp_path, f"cc c.o {script} -L{tmp_path}") == ["c.o", name, "a.o", "libb.a"]


def test_where_libraries_are_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver's own folders behind LIBRARY_PATH; those of compilers only where they are told."""
    for folder, file in (("told", "liba.a"), ("path", "liba.so"), ("path", "libm.a")):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / file).touch()
    asked: list[str] = []
    tools = Tools(tmp_path, asked.append, is_dry=True)
    monkeypatch.setenv("LIBRARY_PATH", f"{tmp_path / 'path'}")
    for word in (f"-L{tmp_path / 'told'}", "-O"):
        found = linked(parse(["gcc", word, "-la", "-lm", "-lc", "-lstdc++"]), tools)
        first = "told/liba.a" if word != "-O" else "path/liba.so"
        assert [str(one.path.relative_to(tmp_path)) for one in found] == [first, "path/libm.a"]
    assert asked == []
    assert linked(parse(["gcc", "--sysroot=/s", "-lnowhere"]), tools) == []
    assert linked(parse(["mylink", "-lnowhere"]), tools) == []
    assert asked == ["gcc --sysroot=/s -print-search-dirs"]
