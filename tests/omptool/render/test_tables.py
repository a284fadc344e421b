# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables and documents look the same however long they are."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tabulate

from omptool.render import tables
from omptool.render.cut_names import shortened, told_apart
from omptool.render.json_stream import document


def test_a_long_table_cuts_long_cells() -> None:
    rows = [{"name": "n" * 20_000}] * 2000
    lines = tables.table("things", rows).splitlines()
    assert len(lines) == 2003
    assert "n…(20000 characters)…n" in lines[-1]
    assert max(map(len, lines)) < 10_000


@pytest.mark.parametrize(
    ("text", "room", "expected"),
    [
        ("kernel", 6, "kernel"),
        ("kernel", 5, "ke…el"),
        ("kernel", 4, "k…el"),
        ("kernel", 2, "…l"),
        ("kernel", 1, "…"),
        ("__omp_offloading_fd00_2a_main_l12", 17, "__omp_of…main_l12"),
        ("__omp_offloading_fd00_2a_main_l31", 17, "__omp_of…main_l31"),
    ],
)
def test_names_are_shortened_in_the_middle(text: str, room: int, expected: str) -> None:
    assert shortened(text, room) == expected
    assert len(expected) <= room


def test_a_cut_column_still_tells_its_names_apart() -> None:
    rows = [{"kernel": f"__omp_offloading_fd00_2a_main_l{line}"} for line in (12, 31)]
    first, second = tables.table("kernels", rows, 24, ["kernel"]).splitlines()[-2:]
    assert len(first) == len(second) == 24
    assert first.endswith("main_l12")
    assert second.endswith("main_l31")


@pytest.mark.parametrize(
    ("names", "room", "expected"),
    [
        (
            tuple(f"grid::forall<double, {name}::{{lambda#1}}>:15" for name in ("flux_x", "halo")),
            28,
            ("grid::forall<doub…flux_x…:15", "grid::forall<double…halo…:15"),
        ),
        (
            tuple(f"a::f<int, long, {name}_{name}::{{lambda#1}}>:7" for name in ("left", "right")),
            12,
            ("…lef…left…:7", "…rig…ight…:7"),
        ),
        (
            (f"{'n' * 40}a{'n' * 40}", f"{'n' * 40}b{'n' * 40}"),
            12,
            ("nnnnnnn…annn", "nnnnnnn…bnnn"),
        ),
        (
            ("grid::pack_left<(Edge)0, double>:6", "grid::pack_right<(Edge)1, double>:9"),
            24,
            ("grid::pack_left<…>:6", "grid::pack_right<…>:9"),
        ),
        (
            ("grid::pack_left<(Edge)0, double>:6", "grid::pack_right<(Edge)1, double>:9"),
            18,
            ("…pack_left<…>:6", "…pack_right<…>:9"),
        ),
        (
            ("grid::pack<(Edge)0, double>:6", "grid::pack<(Edge)1, double>:6"),
            21,
            ("grid::pack<(Edge…0…:6", "grid::pack<(Edge…1…:6"),
        ),
        (
            tuple(
                f"f<g<{kind}>::{{lambda#{at}}}, {'x' * 30}>:2"
                for kind in ("int", "long")
                for at in (1, 2)
            ),
            20,
            (
                *("f<g<int>::{lamb…1…:2", "f<g<int>::{lamb…2…:2"),
                *("f<g<long>::{lam…1…:2", "f<g<long>::{lam…2…:2"),
            ),
        ),
        (("same" * 9, "same" * 9), 12, ("sames…mesame",) * 2),
        (("a::" * 10**6, "b::" * 10**6), 12, ("a::a:…a::a::", "b::b:…b::b::")),
        (("plain_name_one", "short"), 12, ("plain…me_one", "short")),
    ],
)
def test_names_that_are_cut_alike_show_where_they_differ(
    names: tuple[str, ...], room: int, expected: tuple[str, ...]
) -> None:
    cut = [shortened(name, room) for name in names]
    assert tuple(told_apart(names, cut, room)) == expected
    assert max(map(len, expected)) <= room


def test_columns_that_do_not_fit_are_left_out_and_named() -> None:
    row: dict[str, Any] = {"kernel": "k" * 60, "file": "f" * 60, "images": "0-4", "registers": 12}
    spare = ("file", "images")
    for width, left_out in ((97, []), (96, ["file"]), (80, ["file"]), (40, ["file", "images"])):
        lines = tables.table("kernels", [row], width, ("kernel", "file"), spare).splitlines()
        named = [name for name in row if name not in left_out]
        assert lines[1].split() == named
        assert max(map(len, lines[1:4])) <= width
        assert (row["kernel"] in lines[3]) == (width > 70)
        note = f"not shown at this width: {', '.join(left_out)} (--wide shows all)"
        assert " ".join(lines[4:]) == (note if left_out else "")
        assert max(map(len, lines)) <= width


def test_names_are_cut_last_and_hashes_first() -> None:
    row = {"name": "n" * 50, "entry": 1, "symbol": "s" * 90, "address": "0x4000"}
    cut, spare = ("name", "symbol"), ("symbol", "address")
    wide, narrow = (
        tables.table("entries", [row], width, cut, spare).splitlines()[3] for width in (85, 70)
    )
    assert "n" * 50 in wide
    assert "sss…sss" in wide
    assert len(wide) == 84  # and a space below the header of addresses
    assert narrow.split() == ["n" * 50, "1", "0x4000"]
    some = [row, row | {"name": "m" * 90}]
    lines = tables.table("entries", some, 80, cut, spare).splitlines()
    assert [line.split()[1:] for line in lines[3:5]] == [["1", "0x4000"]] * 2
    assert "n" * 50 in lines[3]
    assert len(lines[1]) == 80


def test_no_line_ends_in_spaces_and_columns_are_as_wide_as_their_content() -> None:
    rows: list[dict[str, Any]] = [
        {"name": "a", "note": "long " * 9 + "."},
        {"name": "bb", "note": None},
    ]
    lines = tables.table("t", rows).splitlines()
    assert lines[1:] == ["name  note", f"----  {'-' * 46}", f"a     {rows[0]['note']}", "bb    -"]


def test_no_rows_and_no_cells() -> None:
    assert tables.table("things", []) == "no things"
    assert tables.table("things", [{"name": None}, {"name": ""}]) == "no things"


def test_documents_are_json() -> None:
    rows = [{"name": 'q"\u00e9\u2028', "states": ["present"], "size": 1 << 63}, {"name": None}]
    whole = {"path": "p", "host": {"machine": None}, "abi": None, "none": {}, "some": (1, True)}
    files = [{**whole, "rows": rows, "empty": []}]
    text = "".join(document([{**whole, "rows": iter(rows), "empty": iter(())}], []))
    assert json.loads(text) == json.loads(json.dumps({"schema": 1, "files": files, "errors": []}))
    assert text.isascii()
    assert sum('"name"' in line for line in text.splitlines()) == len(rows)


def test_a_long_table_has_equal_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are laid out some at a time."""
    rows = [{"name": "x" * number, "size": 10**number, "note": "end"} for number in range(1, 9)]
    whole = tables.table("t", rows)
    monkeypatch.setattr(tables, "PIECE", 3)
    assert tables.table("t", rows) == whole


STEP = """
import sys
from omptool.render.tables import table
before = "importlib.metadata" in sys.modules
print(table("rows", [{"name": "a", "size": 1}]))
print(before, "importlib.metadata" in sys.modules)
import importlib.metadata
print(importlib.metadata.version("click") != "unknown")
"""
SHOWN = ["rows:", "name      size", "----    ----", "a            1"]


@pytest.mark.parametrize("asks_for", ["version", "distributions"])
def test_a_table_loads_no_metadata_of_packages(tmp_path: Path, asks_for: str) -> None:
    """A release of tabulate that needs more gets the real module."""
    is_loaded, step = asks_for != "version", STEP
    if is_loaded:
        whole = Path(tabulate.__file__).read_text()
        (tmp_path / "tabulate.py").write_text(f"from importlib.metadata import {asks_for}\n{whole}")
        step = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{step}"
    done = subprocess.run([sys.executable, "-c", step], capture_output=True, text=True, check=True)
    words = " ".join(SHOWN).split()
    assert done.stdout.split() == [*words, "False", str(is_loaded), "True"]
