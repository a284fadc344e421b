# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The page as a file: whole in itself, what its policy allows, 25 bytes an event, safe names."""

from __future__ import annotations

import json
import os
import re
import struct
import subprocess
from base64 import b64decode, b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from chrome_traces import span, written
from fixture_programs import OMPTOOL
from measure import figures
from places import ROOT
from timeline import MAKERS

from omptool.timeline.encoder import COLUMNS

NASTY = "</script><img src=x onerror=alert(1)><!--<script>&amp;\u2028"
KERNEL = "__omp_offloading_fe00_5368f3__Z3addPdi_l6"


class Blocks(HTMLParser):
    """Collects the elements of a page as a browser would see them, and the text of some."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []  # of each of them

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.tags.append((tag, dict(attrs)))
        self.text.append("")

    def handle_endtag(self, tag: str) -> None:
        """Let what follows be of no element."""
        self.tags.append(("", {}))
        self.text.append("")

    def handle_data(self, data: str) -> None:
        """Add to the text of the last element."""
        if self.text:
            self.text[-1] += data

    def of(self, tag: str, **attributes: str) -> str:
        """Return the text of the only element of this kind."""
        (found,) = (
            text
            for (name, own), text in zip(self.tags, self.text, strict=True)
            if name == tag and attributes.items() <= own.items()
        )
        return found


def timeline(trace: Path | str, out: Path, *, stdin: bytes = b"") -> tuple[int, str]:
    command = [OMPTOOL, "timeline", str(trace), "-o", str(out)]
    done = subprocess.run(command, input=stdin, capture_output=True, check=False, timeout=60)
    assert done.stdout == b""
    return done.returncode, done.stderr.decode()


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    events = [
        span("target", 0, 10, construct=5, source=NASTY),
        span(KERNEL, 2, 3, pid=2, construct=5),
        span("copy to device", 1, 1, pid=2, bytes=1 << 40),
        {"ph": "i", "pid": 1, "tid": 1, "ts": 12, "name": "fallback", "args": {"reason": NASTY}},
    ]
    return written(tmp_path / "trace.json", *events)


@pytest.fixture
def page(trace: Path, tmp_path: Path) -> Blocks:
    assert timeline(trace, tmp_path / "out.html") == (0, "")
    blocks = Blocks()
    blocks.feed((tmp_path / "out.html").read_text("utf-8"))
    return blocks


def column(page: Blocks, name: str, code: str) -> list[Any]:
    data = b64decode(page.of("script", id=f"column-{name}"))
    return list(struct.unpack(f"<{len(data) // struct.calcsize(code)}{code}", data))


def test_the_policy_allows_one_script_and_one_style(page: Blocks) -> None:
    (policy,) = (
        attributes["content"]
        for tag, attributes in page.tags
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy is not None
    hashes = [
        "sha256-" + b64encode(sha256(text.encode()).digest()).decode()
        for text in (page.of("script", type="module"), page.of("style"))
    ]
    assert policy == (
        f"default-src 'none'; script-src '{hashes[0]}'; style-src '{hashes[1]}'; "
        "base-uri 'none'; form-action 'none'"
    )
    kinds = {attributes.get("type") for tag, attributes in page.tags if tag == "script"}
    assert kinds == {"module", "application/json", "text/plain"}
    order = [attributes.get("http-equiv") or tag for tag, attributes in page.tags]
    assert order.index("Content-Security-Policy") < min(order.index("style"), order.index("script"))


def test_names_are_data_alone(page: Blocks, tmp_path: Path) -> None:
    assert not [tag for tag, _ in page.tags if tag == "img"]
    assert "<img" not in (tmp_path / "out.html").read_text("utf-8")
    texts = json.loads(page.of("script", id="tables"))["texts"]
    assert any("</script><img src=x onerror=alert(1)>" in text for text in texts)


def test_nothing_is_fetched_and_no_event_is_in_an_attribute(page: Blocks) -> None:
    names = {name for _, attributes in page.tags for name in attributes}
    assert not names & {"src", "href", "srcset", "action", "style"}
    assert not [name for name in names if name.startswith("on")]


@pytest.mark.parametrize("path", sorted((ROOT / "omptool/timeline").glob("*.js")), ids=str)
def test_the_script_makes_no_html_of_text(path: Path) -> None:
    text = path.read_text()
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert word not in text
    assert not re.search(r"\b(fetch|XMLHttpRequest|import)\b *\(", text)
    assert text.startswith("// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n")


def test_an_event_takes_25_bytes(page: Blocks) -> None:
    sizes = [len(b64decode(page.of("script", id=f"column-{name}"))) for name, _, _ in COLUMNS]
    assert sum(sizes) == 25 * 4


def test_the_columns_hold_the_events(page: Blocks) -> None:
    tables = json.loads(page.of("script", id="tables"))
    names = [tables["texts"][tables["labels"][one][1]] for one in column(page, "label", "I")]
    assert names == ["target", "fallback", KERNEL, "copy to device"]
    assert column(page, "start", "d") == [0, 12000, 2000, 1000]
    assert column(page, "duration", "f") == [10000, 0, 3000, 1000]
    assert column(page, "construct", "I") == [5, 0, 5, 0]
    assert [tables["sizes"][one] for one in column(page, "size", "I")] == [0, 0, 0, 1 << 40]
    kinds = [tables["kinds"][one] for one in column(page, "kind", "B")]
    assert kinds == ["construct", "fallback", "kernel", "copy to device"]
    assert [(lane["process"], lane["rows"], lane["instants"]) for lane in tables["lanes"]] == [
        ("host, process 7", [1], 1),
        ("device 0 (host)", [1], 0),
        ("device 0 (host)", [1], 0),
    ]
    assert "add:6" in tables["texts"]


# ---- the command ----


def test_a_construct_that_fell_back_is_a_fallback(tmp_path: Path) -> None:
    events = [
        span("target", 0, 10, construct=5),
        span("target", 20, 10, construct=6),
        {"ph": "i", "pid": 1, "tid": 1, "ts": 2, "name": "fallback", "args": {"construct": 5}},
    ]
    timeline(written(tmp_path / "trace.json", *events), tmp_path / "out.html")
    blocks = Blocks()
    blocks.feed((tmp_path / "out.html").read_text())
    kinds = json.loads(blocks.of("script", id="tables"))["kinds"]
    found = [kinds[one] for one in column(blocks, "kind", "B")]
    assert found == ["fallback", "construct", "fallback"]


def test_standard_input_is_read(trace: Path, tmp_path: Path) -> None:
    assert timeline("-", tmp_path / "out.html", stdin=trace.read_bytes()) == (0, "")
    assert timeline(trace, tmp_path / "same.html") == (0, "")
    own, same = ((tmp_path / name).read_text() for name in ("out.html", "same.html"))
    assert own.replace("standard input", "trace.json") == same


def test_what_is_missing_is_a_note(trace: Path, tmp_path: Path) -> None:
    trace.write_text(trace.read_text()[:-60])
    code, said = timeline(trace, tmp_path / "out.html")
    assert (code, said) == (0, f"Note: {trace}: the trace has no end: later events are missing\n")
    assert "the trace has no end" in (tmp_path / "out.html").read_text()


def test_a_malformed_trace_leaves_no_page(trace: Path, tmp_path: Path) -> None:
    trace.write_text('[{"ph":"X"}]')
    code, said = timeline(trace, tmp_path / "out.html")
    assert (code, said) == (2, f"Error: {trace}: event at 0x1: it has no ts\n")
    assert list(tmp_path.iterdir()) == [trace]


def test_a_page_that_is_there_is_replaced_by_a_whole_one(trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.html"
    out.write_text("mine")
    trace_text = trace.read_text()
    trace.write_text("[7]")
    assert timeline(trace, out)[0] == 2
    assert out.read_text() == "mine"
    trace.write_text(trace_text)
    assert timeline(trace, out) == (0, "")
    assert out.read_text().startswith("<!DOCTYPE html>")


def test_outputs_that_cannot_be_are_refused(trace: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    cases = {
        tmp_path: "is a directory",
        tmp_path / "pipe": "not a regular file",
        tmp_path / "no" / "out": "No such file",
        trace: "would overwrite another file of this command",
    }
    for out, what in cases.items():
        code, said = timeline(trace, out)
        assert code == 2
        assert what in said
        assert said.count("\n") == 1


@pytest.mark.exhaustive
@pytest.mark.parametrize("form", list(MAKERS))
def test_two_million_events_take_30_seconds_and_a_gibibyte(tmp_path: Path, form: str) -> None:
    """Seconds are those of a processor: the machine may be busy."""
    trace = tmp_path / "trace"
    MAKERS[form](trace, 2_000_000)
    done = figures([OMPTOOL, "timeline", str(trace), "-o", str(tmp_path / "out.html")])
    assert done.cpu <= 30
    assert done.peak <= 1024
