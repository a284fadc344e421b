"""Tables and documents look the same however long they are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omptool import tables
from omptool.documents import document

# What cells hold: names are printable, which readers see to.
CELLS = st.none() | st.text(st.characters(exclude_categories=["C", "Z"]) | st.just(" "))
COLUMNS = st.integers(1, 5).flatmap(
    lambda length: st.dictionaries(
        st.sampled_from(["entry", "name", "a longer title"]),
        st.lists(CELLS, min_size=length, max_size=length)
        | st.lists(st.integers(), min_size=length, max_size=length),
        min_size=1,
    )
)


@given(columns=COLUMNS)
def test_long_tables_look_like_short_ones(columns: dict[str, Sequence[Any]]) -> None:
    short = tables.column_table("things", columns)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "LONG", 1)
        assert tables.column_table("things", columns) == short


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
