# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs' traces as pages; and the picture in docs/observing.md, which is made here.

`PYTHONPATH=tests/support:bench python tests/programs/observing/test_timeline.py` makes it anew.
"""

from __future__ import annotations

import json
import re
import struct
import sys
import tempfile
import zlib
from pathlib import Path
from typing import NamedTuple

import browser
import pytest
import queues
import running
from browser import Page
from chrome_traces import Row, read
from clangs import compiled
from fixture_programs import OMPTOOL
from machine import output
from places import ROOT
from recorder import OBSERVING
from seen import chromium

PICTURE = ROOT / "docs" / "timeline.png"
WIDTH, HEIGHT = 1280, 800
# With few threads of libomp, the picture has room for the lanes of both devices.
TWO_DEVICES = {
    "OMPTOOL_HOST_DEVICES": "2",
    "OMPTOOL_HOST_QUEUES": "1",
    "LIBOMP_NUM_HIDDEN_HELPER_THREADS": "4",
}
DEVICES = ("device 0 (host)", "device 1 (host)")
# Light colours of kernels in omptool/timeline/page.css.
OF_KERNELS = [
    bytes.fromhex(found)
    for found in re.findall(
        r"--region-\d: light-dark\(#(\w{6})", (ROOT / "omptool/timeline/page.css").read_text()
    )
]


def traced(program: Path, trace: Path, **environment: str) -> Path:
    """Run a program, and return its trace."""
    done = running.run(program, OMPTOOL_TRACE=str(trace), **environment)
    assert (done.returncode, done.stderr) == (0, "")
    return trace


def page_of(trace: Path) -> Path:
    out = trace.with_suffix(".html")
    assert output(OMPTOOL, "timeline", trace, "-o", out) == ""
    return out


@pytest.mark.offloads
@pytest.mark.parametrize("form", ["json", "pftrace"])
def test_both_formats_of_a_program(tmp_path: Path, form: str) -> None:
    program = compiled(OBSERVING / "traced.c", tmp_path, "-g")
    trace = traced(program, tmp_path / f"trace.{form}", **running.MANDATORY)
    page_of(trace)
    rows = read(trace)
    kinds = {row.kind for row in rows}
    assert kinds >= {"construct", "kernel", "copy to device", "copy to host", "routine", "mapping"}
    assert {row.process.partition(",")[0] for row in rows} == {"host", DEVICES[0]}
    kernels = [row for row in rows if row.kind == "kernel"]
    launched = {row.construct for row in rows if row.name == "target"}
    assert len(kernels) == 2
    assert {row.construct for row in kernels} == launched
    assert {row.size for row in rows if row.kind.startswith("copy")} == {16}


@pytest.mark.offloads
@pytest.mark.parametrize("form", ["json", "pftrace"])
def test_a_fallback_is_one_in_both_formats(tmp_path: Path, form: str) -> None:
    program = compiled(OBSERVING / "traced.c", tmp_path)
    trace = tmp_path / f"trace.{form}"
    running.run(program, OMPTOOL_TRACE=str(trace), OMPTOOL_PLUGINS="nosuch")
    assert "fallback" in {row.kind for row in read(trace)}
    with browser.page(chromium()) as page:
        page.open(page_of(trace))
        legend = page.evaluate("document.querySelector('#legend').innerText")
        assert "fallback" in legend.split("\n")
        assert page.evaluate("document.querySelectorAll('tr.fallback').length") > 0
        assert page.errors == []


# ---- a stencil on two devices, whose queues it needs ----

OVER_QUEUES = pytest.mark.parametrize("way", [queues.QUEUED], ids=["queued"], indirect=True)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    program = compiled(OBSERVING / "halos.c", tmp_path, "-g", "-lm")
    return traced(program, tmp_path / "halos.json", **TWO_DEVICES, **running.MANDATORY)


def overlaps(rows: list[Row]) -> int:
    """Return how many transfers of a device go on while a kernel of that device runs."""
    kernels = [row for row in rows if row.kind == "kernel"]
    return sum(
        any(
            kernel.process == row.process
            and kernel.start < row.start + row.duration
            and row.start < kernel.start + kernel.duration
            for kernel in kernels
        )
        for row in rows
        if row.kind.startswith("copy")
    )


@OVER_QUEUES
def test_halos_move_while_kernels_run(trace: Path) -> None:
    rows = read(trace)
    assert {row.process for row in rows if row.kind == "kernel"} == set(DEVICES)
    assert overlaps(rows) > 0


@OVER_QUEUES
def test_the_picture_of_the_docs_is_of_this_page(trace: Path, tmp_path: Path) -> None:
    picture = tmp_path / "timeline.png"
    with browser.page(chromium(), WIDTH, HEIGHT) as page:
        take(page, trace, picture)
        drawn = page.evaluate("timeline.shown()")
    assert {one["process"] for one in drawn if one["kind"] == "kernel"} == set(DEVICES)
    assert len([one for one in drawn if one["launcher"] is not None]) >= 8
    lanes = {one["lane"].rpartition(", ")[2] for one in drawn if one["kind"].startswith("copy")}
    assert lanes == {"transfers"}
    for path in (picture, PICTURE):
        found = Png.read(path)
        assert (found.width, found.height) == (WIDTH, HEIGHT)
        # Colours of the background, of copies in both directions, of kernels and of text.
        assert found.colours >= {b"\xff\xff\xff", b"\x3b\x46\x52", b"\x87\x94\xa1"}
        assert len(found.colours & set(OF_KERNELS)) >= 2
        assert len(found.colours) > 40
    assert PICTURE.stat().st_size < 200_000


def take(page: Page, trace: Path, picture: Path) -> None:
    """Write the picture of the steps, without what comes before the first kernel."""
    page.prefer("light")
    page.open(page_of(trace))
    rows = [row for row in read(trace) if row.kind == "kernel"]
    end = max(row.start + row.duration for row in rows)
    begin = min(row.start for row in rows)
    edge = (end - begin) / 20
    page.evaluate(f"timeline.show({begin - edge}, {end + edge})")
    page.settle()
    assert page.errors == []
    picture.write_bytes(page.screenshot())


class Png(NamedTuple):
    """A picture: its size and colours."""

    width: int
    height: int
    colours: set[bytes]

    @classmethod
    def read(cls, path: Path) -> Png:
        """Decode a picture without a palette."""
        data = path.read_bytes()
        assert data[:8] == b"\x89PNG\r\n\x1a\n"
        width, height, depth, kind = struct.unpack(">IIBB", data[16:26])
        assert (depth, kind in (2, 6)) == (8, True)
        packed, at = b"", 8
        while at < len(data):
            (size,) = struct.unpack(">I", data[at : at + 4])
            if data[at + 4 : at + 8] == b"IDAT":
                packed += data[at + 8 : at + 8 + size]
            at += size + 12
        return cls(width, height, _colours(zlib.decompress(packed), width, 3 if kind == 2 else 4))


def _colours(data: bytes, width: int, depth: int) -> set[bytes]:
    """Return the colours of filtered lines."""
    stride = width * depth
    before = bytearray(stride)
    found: set[bytes] = set()
    for at in range(0, len(data), stride + 1):
        line = bytearray(data[at + 1 : at + 1 + stride])
        _unfilter(data[at], line, before, depth)
        found.update(bytes(line[i : i + 3]) for i in range(0, stride, depth))
        before = line
    return found


def _unfilter(kind: int, line: bytearray, above: bytearray, depth: int) -> None:
    """Undo a line's filter: https://www.w3.org/TR/png-3/#9Filters."""
    for i in range(len(line)):
        left = line[i - depth] if i >= depth else 0
        corner = above[i - depth] if i >= depth else 0
        if kind == 1:
            line[i] = line[i] + left & 255
        elif kind == 2:
            line[i] = line[i] + above[i] & 255
        elif kind == 3:
            line[i] = line[i] + (left + above[i]) // 2 & 255
        elif kind == 4:
            line[i] = line[i] + _paeth(left, above[i], corner) & 255


def _paeth(left: int, above: int, corner: int) -> int:
    guess = left + above - corner
    return min((left, above, corner), key=lambda one: abs(guess - one))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name, browser.page(chromium(), WIDTH, HEIGHT) as one:
        folder = Path(name)
        own = traced(
            compiled(OBSERVING / "halos.c", folder, "-g", "-lm"),
            folder / "halos.json",
            **TWO_DEVICES,
        )
        take(one, own, PICTURE)
        json.dump({"bytes": PICTURE.stat().st_size}, sys.stdout)
