"""Tables and documents look the same however long they are."""

from __future__ import annotations

import json

import pytest
from tabulate import tabulate

from omptool.render import tables
from omptool.render.json_stream import document


def test_a_long_table_cuts_long_cells() -> None:
    rows = [{"name": "n" * 20_000}] * 2000
    lines = tables.table("things", rows).splitlines()
    assert len(lines) == 2003
    assert lines[-1].endswith("n… (20000 characters)")
    assert max(map(len, lines)) < 10_000


def test_no_rows_and_no_cells() -> None:
    assert tables.table("things", []) == "no things"
    assert tables.table("things", [{"name": None}, {"name": ""}]) == "no things"


@pytest.mark.parametrize("count", [1, 3, 40])
def test_tables_are_laid_out_as_tabulate_does(count: int) -> None:
    rows = [
        {"n": number * 7**number, "long name": "x" * (number % 5), "last\u00e9": f"{number:#x} y"}
        for number in range(count)
    ]
    cells = [[row["n"], row["long name"] or "-", row["last\u00e9"]] for row in rows]
    if count == 1:
        cells = [[0, "0x0 y"]]
    names = list(rows[0]) if count > 1 else ["n", "last\u00e9"]
    expected = tabulate(cells, names, disable_numparse=True, colalign=["right"])
    assert tables.table("things", rows) == f"things:\n{expected}"


def test_documents_are_json() -> None:
    rows = [{"name": 'q"\u00e9\u2028', "states": ["present"], "size": 1 << 63}, {"name": None}]
    whole = {"path": "p", "host": {"machine": None}, "abi": None, "none": {}, "some": (1, True)}
    files = [{**whole, "rows": rows, "empty": []}]
    text = "".join(document([{**whole, "rows": iter(rows), "empty": iter(())}], []))
    assert json.loads(text) == json.loads(json.dumps({"schema": 1, "files": files, "errors": []}))
    assert text.isascii()
    assert sum('"name"' in line for line in text.splitlines()) == len(rows)
