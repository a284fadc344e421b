# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables of a C++ program of about 100 regions are readable at any width."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from clangs import CLANG
from many_regions import ABOUT, many_regions
from places import FIXTURES
from toolchain import X86_64, omptool, run

WIDTHS = (80, 100, 200)
LONGEST = "hydrodynamics::advection_energy_density_kernel_30<double, 8ul>:121"
RAW = "__omp_offloading_"
# Commands, with the title of each one's table of names.
COMMANDS = {
    "entries": ("dump",),
    "kernels": ("dump", "--kernels"),
    "predicted": ("doctor",),
    "extracted": ("extract", "--kernels"),
}
TITLES = {"entries": "entries:", "kernels": "kernels:"}
TITLES |= {"predicted": "entries:", "extracted": "kernels:"}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide a program of templates in namespaces, and functions."""
    return many_regions(tmp_path_factory.mktemp("many"))


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMPTOOL_PLUGINS", "host")
    monkeypatch.delenv("COLUMNS", raising=False)


def text_of(command: str, program: Path, *options: str, width: int | None = None) -> str:
    environment = {} if width is None else {"COLUMNS": str(width)}
    words = COMMANDS.get(command) or command.split()
    return omptool(*words, *options, program, environment=environment).stdout


def rows_of(text: str, title: str) -> list[str]:
    """Return the header, the rule and the rows of a table."""
    lines = text.split(f"\n{title}\n" if f"\n{title}\n" in text else f"{title}\n", 1)[1]
    end = re.search(r"^(?:[\w ]+:$|not shown|OMP|\[)", lines, re.MULTILINE)
    return (lines[: end.start()] if end else lines).splitlines()


@pytest.fixture(scope="module")
def names(program: Path) -> list[str]:
    """Provide the short names in the table for a pipe."""
    rows = rows_of(text_of("entries", program), "entries:")[2:]
    return [re.split(r"  +", row)[0] for row in rows]


def test_a_pipe_gets_whole_names_and_no_padding(program: Path, names: list[str]) -> None:
    assert len(names) == len(set(names)) >= ABOUT
    assert sum("<" in name for name in names) > ABOUT // 2
    assert LONGEST.split("_kernel", maxsplit=1)[0] in " ".join(names)
    for command in COMMANDS:
        text = text_of(command, program)
        assert RAW not in text
        assert not [line for line in text.splitlines() if line.endswith(" ")]
        rows = rows_of(text, TITLES[command])
        assert [re.split(r"  +", row)[0] for row in rows[2:]] == names
        # The column is as wide as its widest name.
        assert len(rows[1].split()[0]) == max(map(len, names))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("command", COMMANDS)
def test_names_come_first_and_whole(
    program: Path, names: list[str], command: str, width: int
) -> None:
    text = text_of(command, program, width=width)
    assert RAW not in text
    rows = rows_of(text, TITLES[command])
    assert len(rows) == len(names) + 2
    assert max(map(len, rows)) <= width
    shown = [re.split(r"  +", row)[0] for row in rows[2:]]
    room = len(rows[1].split()[0])
    whole = [name for name in names if len(name) <= room]
    assert set(whole) <= set(shown)
    assert len(set(shown)) == len(names)  # shortened names differ, too
    if width >= 100:
        assert shown == names
    else:
        assert room >= 0.7 * width


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    "words", ["dump", "dump --hash", "dump --kernels", "dump --summary", "extract --kernels"]
)
def test_no_row_is_wider_than_the_width(program: Path, words: str, width: int) -> None:
    _, *lines = text_of(words, program, width=width).splitlines()
    assert lines
    assert max(map(len, lines)) <= width
    assert not [line for line in lines if line.endswith(" ")]


def test_raw_names_are_for_wide_tables(program: Path, names: list[str]) -> None:
    for command in COMMANDS:
        text = text_of(command, program, "--wide", width=80)
        assert text.count(RAW) >= len(names)
        assert all(name in text for name in names)


def test_sums_have_no_mangled_name(program: Path) -> None:
    text = text_of("dump --summary", program, width=80)
    assert "x86_64-pc-linux-gnu" in text
    assert "_Z" not in text


def test_notes_wrap_at_the_width(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMPTOOL_PLUGINS", "absent")
    for width in (40, 80):
        lines = text_of("doctor", program, width=width).splitlines()
        noted = [line for line in lines if re.match(r"\[\d+\] ", line)]
        assert noted
        assert max(map(len, noted)) <= width


def test_findings_name_regions_by_function_and_line(program: Path, tmp_path: Path) -> None:
    """An image without a kernel: the finding names the region, or its kernel with --wide."""
    assert omptool("extract", program, "-o", tmp_path).exit_code == 0
    (image,) = tmp_path.iterdir()
    data = image.read_bytes()
    first = re.search(rb"__omp_offloading_\w+kernel_0\w+_l25\b", data)
    assert first
    image.write_bytes(data.replace(first[0], first[0][:-1] + b"9"))
    changed = tmp_path / "changed"
    words = ("edit", program, "--replace", f"0={image}", "--force", "-o", changed)
    assert omptool(*words).exit_code == 0, omptool(*words).output
    text, wide = (omptool("verify", *words, changed).stdout for words in ((), ("--wide",)))
    assert "kernel_0:25" in text
    assert RAW not in text
    assert first[0].decode() in wide


def test_notes_of_one_code_are_counted(tmp_path: Path) -> None:
    """A header with a template for six lambdas, in two files."""
    (tmp_path / "forall.hpp").write_text(
        "template <typename Body> void forall(int n, Body body) {\n#pragma omp target\n"
        "  body(n); }\ninline void step(int n) {\n" + 6 * "  forall(n, [](int) {});\n" + "}\n"
    )
    sources = [tmp_path / f"{name}.cpp" for name in ("one", "two")]
    for source in sources:
        end = "int main() { step(1); }" if source.stem == "one" else "void two() { step(2); }"
        source.write_text(f'#include "forall.hpp"\n{end}\n')
    run(CLANG[".cpp"], "-fopenmp", f"-fopenmp-targets={X86_64}", *sources, "-o", tmp_path / "app")
    lines = omptool("verify", tmp_path / "app").stdout.splitlines()
    assert [line for line in lines if "step::{lambda#" in line] == [
        f"{tmp_path}/app: OMP108 info: forall<step::{{lambda#{number}}}>:2 is listed 2 times in "
        "the host's table"
        for number in (1, 2, 3)
    ]
    assert f"{tmp_path}/app: OMP108 info: 9 more findings (--wide shows all)" in lines
    assert omptool("verify", "--wide", tmp_path / "app").stdout.count("OMP108 info") == 12


def test_code_of_each_machine_has_a_column(tmp_path: Path) -> None:
    images: list[str] = []
    for triple in ("x86_64-pc-linux-gnu", "amdgcn-amd-amdhsa"):
        image = tmp_path / triple
        source = FIXTURES / "saxpy" / "kernels.ll"
        assert omptool("lower", source, "--triple", triple, "-o", image).exit_code == 0
        images += ["--image", f"{triple}={image}"]
    both = tmp_path / "both.o"
    assert omptool("emit", *images, "--entries", "auto", "-o", both).exit_code == 0
    heads, _, *rows = rows_of(omptool("dump", "--kernels", both).stdout, "kernels:")
    assert heads.endswith("  code x86_64  code amdgcn")
    assert len({row.split()[-1] for row in rows} | {row.split()[-2] for row in rows}) == 4
    one = omptool("dump", "--kernels", "--arch", "gfx90a", both).stdout
    assert rows_of(one, "kernels:")[0].endswith("  code")
