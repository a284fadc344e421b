# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The timeline in headless Chromium: its contents, and the effects of keys and the mouse."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import browser
import pytest
from browser import Page
from chrome_traces import span, written
from fixture_programs import OMPTOOL
from machine import output
from seen import chromium, drag, text, view
from timeline import make_json

pytestmark = pytest.mark.slow

NASTY = "</script><img src=x onerror=\"document.title='run'\">"
KERNEL = "__omp_offloading_fe00_5368f3_main_l6"
# Limits of the first picture and of one zoom; loaded machines are slower than the figures of
# bench/.
SECONDS, MILLISECONDS = 5, 100


@pytest.fixture(scope="module")
def shown() -> Iterator[Page]:
    with browser.page(chromium()) as page:
        yield page


def opened(shown: Page, folder: Path, *events: object) -> Page:
    """Show the page of a trace with these events, in light colours."""
    written(folder / "trace.json", *events)
    return made(shown, folder)


def made(shown: Page, folder: Path) -> Page:
    output(OMPTOOL, "timeline", folder / "trace.json", "-o", folder / "page.html")
    shown.errors.clear()
    shown.requests.clear()
    shown.prefer("light")
    shown.open(folder / "page.html")
    shown.settle()
    return shown


def region(number: int, at: float) -> list[dict[str, Any]]:
    """Return the events of a region that has copied 64 bytes."""
    return [
        span("target", at, 10, construct=number, device=0, source=f"app.c:{number}:1"),
        span("copy to device", at + 1, 2, pid=2, construct=number, bytes=64),
        span(KERNEL, at + 4, 3, pid=2, construct=number),
    ]


@pytest.fixture
def page(shown: Page, tmp_path: Path) -> Iterator[Page]:
    """Provide the page of four regions, of which the last one fell back."""
    events = [event for number in (1, 2, 3) for event in region(number, 20.0 * number)]
    events.append(span("target", 80, 10, construct=4, source="app.c:4:1"))
    args = {"construct": 4, "entry": KERNEL, "reason": "no device"}
    events.append({"ph": "i", "pid": 1, "tid": 1, "ts": 85, "name": "fallback", "args": args})
    yield opened(shown, tmp_path, *events)
    assert shown.errors == []
    assert [url for url in shown.requests if not url.endswith("/page.html")] == []


def row_texts(page: Page, table: str) -> list[list[str]]:
    found: list[list[str]] = page.evaluate(
        f"[...document.querySelectorAll('#{table} tr')].map((row) => "
        "[...row.cells].map((cell) => cell.innerText))"
    )
    return found


def place(page: Page, name: str, number: int = 0) -> tuple[float, float]:
    """Return a point of the page that is in an event."""
    events = [event for event in page.evaluate("timeline.shown()") if event["name"] == name]
    x, y = page.evaluate(f"timeline.place({events[number]['event']})")
    left, top = page.evaluate(
        "(({ left, top }) => [left, top])(document.querySelector('canvas').getBoundingClientRect())"
    )
    return left + x + 3, top + y + 4


# ---- what is there ----


def test_all_events_are_there(page: Page) -> None:
    assert text(page, "#summary") == "10 spans, 1 instants, 3 lanes, 70 µs"
    drawn = [event["name"] for event in page.evaluate("timeline.shown()")]
    assert sorted(drawn) == sorted(["target"] * 4 + ["copy to device", KERNEL] * 3)
    assert view(page) == (20000, 90000)
    assert page.evaluate("document.title") == "trace.json: timeline"


def test_arrows_lead_to_kernels(page: Page) -> None:
    events = {event["event"]: event for event in page.evaluate("timeline.shown()")}
    launchers = [events[e["launcher"]] for e in events.values() if e["launcher"] is not None]
    assert [(one["name"], one["begin"]) for one in launchers] == [
        ("target", 20000),
        ("target", 40000),
        ("target", 60000),
    ]


def test_entries_are_sorted_by_their_headers(page: Page) -> None:
    header, *rows = row_texts(page, "entries")
    assert header == [
        *("Region", "Times", "Fallbacks"),
        *("On devices", "Mean", "Longest", "On the host", "Bytes"),
    ]
    assert rows == [["main:6", "4", "1", "9 µs", "3 µs", "3 µs", "40 µs", "192 B"]]
    header, *rows = row_texts(page, "others")
    assert header == ["Event", "Times", "Total", "Mean", "Longest"]
    assert rows == [["copy to device", "3", "6 µs", "2 µs", "2 µs"]]
    for _ in range(2):
        page.evaluate("document.querySelector('#entries th button').click()")
        names = [row[0] for row in row_texts(page, "entries")[1:]]
        order = page.evaluate("document.querySelector('#entries th').getAttribute('aria-sort')")
        assert names == sorted(names, reverse=order == "descending")
    assert order == "descending"


def test_each_region_has_a_row_of_its_own(shown: Page, tmp_path: Path) -> None:
    """The region that fell back is the one with a fallback, and no region has another's runs."""
    other = KERNEL.replace("main_l6", "work_l9")
    events = [
        span("target", 0, 10, construct=1, entry=KERNEL, device=0, source="app.c:6:1"),
        span(KERNEL, 2, 3, pid=2, construct=1),
        span("target", 20, 10, construct=2, entry=other, device=0, source="app.c:9:1"),
        span("target", 40, 10, construct=3, entry=other, device=0, source="app.c:9:1"),
        span(other, 42, 4, pid=2, construct=3),
        span("target update", 60, 5, construct=4, device=0, source="app.c:12:1"),
        span("copy to host", 61, 2, pid=2, construct=4, bytes=8),
    ]
    args = {"construct": 2, "entry": other, "reason": "no memory"}
    events.append({"ph": "i", "pid": 1, "tid": 1, "ts": 25, "name": "fallback", "args": args})
    page = opened(shown, tmp_path, *events)
    rows = [row[:4] for row in row_texts(page, "entries")[1:]]
    assert rows == [["work:9", "2", "1", "4 µs"], ["main:6", "1", "0", "3 µs"]]
    assert [row[0] for row in row_texts(page, "others")[1:]] == [
        "target update app.c:12:1",
        "copy to host",
    ]
    red = page.evaluate("[...document.querySelectorAll('tr.fallback')].map((row) => row.innerText)")
    assert [row.split("\t")[0] for row in red] == ["work:9"]


def test_moved_data_has_totals(page: Page) -> None:
    assert row_texts(page, "moved")[1:] == [
        ["device 0 (host)", "copy to device", "3", "192 B", "6 µs"],
        ["In all", "", "3", "192 B", "6 µs"],
    ]


def test_each_kind_has_its_colour_in_both_schemes(page: Page) -> None:
    """A fallback has a colour of its own. The button switches the user's preference."""

    def colours() -> tuple[str, set[str]]:
        page.settle()
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        found = page.evaluate(
            "(() => { const canvas = document.querySelector('canvas');"
            " const copy = new OffscreenCanvas(canvas.width, canvas.height);"
            " const pixels = copy.getContext('2d', { willReadFrequently: true });"
            " pixels.drawImage(canvas, 0, 0);"
            " const { data } = pixels"
            ".getImageData(0, 0, canvas.width, canvas.height);"
            " return [...new Set(new Uint32Array(data.buffer))]; })()"
        )
        return paper, {
            f"#{int.from_bytes(one.to_bytes(4, 'little')[:3], 'big'):06x}" for one in found
        }

    # Pixels of the construct's edge, the copy, and both stripes of the fallback.
    light, dark = (
        ("#5b6f86", "#3b4652", "#d3002f", "#8f0020"),
        ("#93a7bd", "#b7c1cb", "#ff4d6a", "#a3203a"),
    )
    paper, found = colours()
    assert paper == "rgb(255, 255, 255)"
    assert found >= set(light)
    assert not found & set(dark)
    page.prefer("dark")
    paper, found = colours()
    assert paper == "rgb(21, 24, 28)"
    assert found >= set(dark)
    assert not found & set(light)
    page.evaluate("document.querySelector('#scheme').click()")
    paper, found = colours()
    assert paper == "rgb(255, 255, 255)"
    assert found >= set(light)


# ---- keys and mouse ----


def test_keys_zoom_and_pan(page: Page) -> None:
    begin, end = view(page)
    page.press("w")
    inner = view(page)
    assert begin < inner[0] < inner[1] < end
    assert inner[1] - inner[0] == pytest.approx((end - begin) / 1.5)
    page.press("ArrowUp")
    narrow = view(page)
    page.press("d")
    right = view(page)
    assert right[0] > narrow[0]
    assert right[1] - right[0] == pytest.approx(narrow[1] - narrow[0])
    page.press("ArrowLeft")
    assert view(page) == pytest.approx(narrow)
    for key in "sss":
        page.press(key)
    assert view(page) == (begin, end)
    page.press("w")
    page.press("Home")
    assert view(page) == (begin, end)


def test_a_link_to_what_is_in_view(page: Page) -> None:
    """Times are those since the begin of the trace, at 20 µs."""
    page.press("w")
    begin, end = view(page)
    page.press("l")
    assert page.evaluate("location.hash") == f"#{round(begin - 20000)}-{round(end - 20000)}"
    page.evaluate("location.hash = '#10000-30000'")
    page.settle()
    assert view(page) == (30000, 50000)
    for wrong in ("#", "#x-y", "#1-", "#99-1", f"#{'9' * 30}-1", "#1-2-3"):
        page.evaluate(f"location.hash = '{wrong}'")
        page.settle()
        begin, end = view(page)
        assert 20000 <= begin < end <= 90000


def test_the_wheel_zooms_at_the_pointer(page: Page) -> None:
    x, y = place(page, KERNEL, 1)
    begin, end = view(page)
    page.move(x, y, "mouseWheel", deltaX=0, deltaY=-300)
    inner = view(page)
    assert inner[1] - inner[0] < (end - begin) / 2
    assert inner[0] < 44000 < inner[1]
    assert place(page, KERNEL)[0] == pytest.approx(x, abs=12)
    page.move(x, y, "mouseWheel", deltaX=0, deltaY=5000)
    assert view(page) == (begin, end)


def test_dragging_with_shift_pans(page: Page) -> None:
    x, y = place(page, KERNEL, 1)
    page.press("w")
    before = view(page)
    drag(page, (x, y), (x - 60, y), shift=True)
    assert view(page)[0] > before[0]
    assert page.evaluate("document.querySelector('#details').hidden")


def test_hovering_tells_all_of_an_event(page: Page) -> None:
    page.move(*place(page, KERNEL, 1))
    assert text(page, "#details").split("\n") == [
        "main:6",
        *("kind", "kernel"),
        *("device", "device 0 (host)"),
        *("lane", "thread 1"),
        *("begins at", "24 µs"),
        *("duration", "3 µs"),
        *("source", "app.c:2:1"),
        *("construct", "2"),
        *("symbol", KERNEL),
    ]
    page.move(*place(page, "copy to device"))
    assert "64 (64 B)" in text(page, "#details")
    assert "app.c:1:1" in text(page, "#details")
    page.move(*place(page, "target", 3))
    assert "fallback" in text(page, "#details")
    assert "no device" in text(page, "#details")
    page.move(5, 5)
    assert page.evaluate("document.querySelector('#details').hidden")


def test_a_search_finds_hits_and_goes_to_them(page: Page) -> None:
    page.press("/")
    assert page.evaluate("document.activeElement.id") == "search"
    page.type("MAIN:6")
    assert text(page, "#hits") == "4 hits"
    begins = []
    for _ in range(5):
        page.press("Enter")
        begins.append(
            text(page, "#details").split("\n")[
                1 + text(page, "#details").split("\n").index("begins at")
            ]
        )
    assert begins == ["4 µs", "24 µs", "44 µs", "65 µs", "4 µs"]
    assert text(page, "#hits") == "1 of 4"
    page.press("Enter", shift=True)
    assert "no device" in text(page, "#details")
    assert text(page, "#hits") == "4 of 4"
    page.press("Escape")
    assert text(page, "#hits") == ""
    assert page.evaluate(
        "[document.querySelector('#search').value, document.activeElement.id]"
    ) == [
        "",
        "canvas",
    ]
    page.press("/")
    page.type("nothing")
    assert text(page, "#hits") == "0 hits"


def test_keys_step_through_a_row(page: Page) -> None:
    page.press(".")
    page.press(".")
    assert "app.c:2:1" in text(page, "#details")
    page.press(",")
    assert "app.c:1:1" in text(page, "#details")


def test_tab_reaches_the_headers_of_tables(page: Page) -> None:
    page.evaluate("document.querySelector('canvas').focus()")
    page.press("Tab")
    assert page.evaluate("document.activeElement.ariaLabel") == "Regions"
    page.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Region"
    page.press("Enter")
    assert page.evaluate("document.activeElement.parentElement.ariaSort") == "ascending"


def test_the_help_is_shown_on_demand(page: Page) -> None:
    assert page.evaluate("document.querySelector('#help').hidden")
    page.evaluate("document.querySelector('#help-button').click()")
    assert "Page down" in text(page, "#help")


# ---- hostile and large traces ----


def test_names_are_shown_as_text(shown: Page, tmp_path: Path) -> None:
    events = [
        span(NASTY, 0, 10, construct=1, source=NASTY),
        span(NASTY, 1, 2, pid=2, construct=1),
        {"ph": "i", "pid": 1, "tid": 1, "ts": 5, "name": "fallback", "args": {"reason": NASTY}},
        {"ph": "M", "pid": 1, "tid": 1, "name": "thread_name", "args": {"name": NASTY}},
    ]
    page = opened(shown, tmp_path, *events)
    page.press("/")
    page.type("<img")
    assert text(page, "#hits") == "3 hits"
    for _ in range(3):
        page.press("Enter")
        assert NASTY in text(page, "#details")
    titles = page.evaluate("[...document.querySelectorAll('td')].map((cell) => cell.title)")
    assert NASTY in titles
    assert page.evaluate("document.images.length") == 0
    assert page.evaluate("document.title") == "trace.json: timeline"
    assert (page.errors, [url for url in page.requests if "page.html" not in url]) == ([], [])


def test_the_policy_forbids_other_scripts(shown: Page, tmp_path: Path) -> None:
    """Scripts do not run even if a name becomes HTML."""
    page = opened(shown, tmp_path, span("a", 0, 1))
    page.evaluate(
        "document.body.insertAdjacentHTML('beforeend',"
        " '<img src=x onerror=\"window.run=1\"><script>window.run=1</script>')"
    )
    page.settle()
    assert page.evaluate("window.run ?? null") is None
    assert any("Content Security Policy" in error for error in page.errors)


def test_a_trace_without_events_is_a_page(shown: Page, tmp_path: Path) -> None:
    page = opened(shown, tmp_path)
    assert text(page, "#summary") == "The trace has no events."
    for key in ("w", "d", ".", "Home", "Enter"):
        page.press(key)
    assert page.errors == []


def test_many_events_are_drawn_soon(shown: Page, tmp_path: Path) -> None:
    make_json(tmp_path / "trace.json", 200_000)
    page = made(shown, tmp_path)
    assert text(page, "#summary").startswith("150,000 spans, 50,000 instants, 12 lanes")
    assert page.evaluate("timeline.firstPicture") < SECONDS * 1000
    for key in "wwwwsssw":
        page.press(key)
        assert page.evaluate("timeline.took.draw") < MILLISECONDS
    page.press("/")
    page.type("copy to host")
    assert text(page, "#hits") == "25,000 hits"
    assert page.errors == []
