"""Tables and documents look the same however long they are."""

from __future__ import annotations

import json

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


def test_documents_are_json() -> None:
    rows = [{"name": 'q"\u00e9\u2028', "states": ["present"], "size": 1 << 63}, {"name": None}]
    whole = {"path": "p", "host": {"machine": None}, "abi": None, "none": {}, "some": (1, True)}
    files = [{**whole, "rows": rows, "empty": []}]
    text = "".join(document([{**whole, "rows": iter(rows), "empty": iter(())}], []))
    assert json.loads(text) == json.loads(json.dumps({"schema": 1, "files": files, "errors": []}))
    assert text.isascii()
    assert sum('"name"' in line for line in text.splitlines()) == len(rows)
