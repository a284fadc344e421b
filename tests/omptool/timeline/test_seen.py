# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Look at the page as a person does: names, clipped texts, colours, folded lanes, gestures."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import browser
import pytest
from browser import Page
from chrome_traces import DEVICE, END, HOST, span
from colour_vision import VISIONS, difference
from fixture_programs import OMPTOOL
from machine import output
from seen import box, chromium, clipped, drag, text, touch, view, wait_for

pytestmark = pytest.mark.slow

SIZES = ((1280, 800), (400, 800))
SCHEMES = ("light", "dark")
DEVICES = 3
REGIONS = 40
DIFFERENT = 12  # CIE76 difference at which colours can be told apart
TEMPLATE = "__omp_offloading_fe00_20e260__ZN10cloverleaf7kernels4ManyIdLi{}EE2goEPdii_l31"
SHORT = "cloverleaf::kernels::Many<double, {}>::go:31"


def regions() -> Iterator[dict[str, Any]]:
    """Yield regions of templates on three devices, one after the other, and a lane that waits."""
    for device in range(1, DEVICES):
        yield DEVICE | {"pid": 2 + device, "args": {"name": f"device {device} (host)"}}
    for number in range(REGIONS * DEVICES):
        name, device, at = TEMPLATE.format(number % REGIONS), number % DEVICES, 100.0 * number
        about = {"construct": number + 1}
        source = f"/home/someone/cloverleaf/source/kernels/advection.cpp:{number}:3"
        yield span("target", at, 90, entry=name, device=device, source=source, **about)
        yield span("copy to device", at + 5, 10, pid=2 + device, bytes=4096, **about)
        yield span(name, at + 20, 50, pid=2 + device, **about)
        yield span("copy to host", at + 75, 10, pid=2 + device, bytes=4096, **about)
        yield span("wait", at, 90) | {"tid": 2}
    args = {"construct": 7, "entry": TEMPLATE.format(6), "reason": "no memory"}
    yield {"ph": "i", "pid": 1, "tid": 1, "ts": 650, "name": "fallback", "args": args}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("seen")
    trace = folder / "trace.json"
    trace.write_text(json.dumps([HOST, DEVICE, *regions(), END]))
    output(OMPTOOL, "timeline", trace, "-o", folder / "page.html")
    return folder / "page.html"


@pytest.fixture(scope="module", params=SIZES, ids=lambda size: "x".join(map(str, size)))
def sized(request: pytest.FixtureRequest) -> Iterator[Page]:
    with browser.page(chromium(), *request.param) as page:
        page.call("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)
        yield page


@pytest.fixture(params=SCHEMES)
def page(sized: Page, path: Path, request: pytest.FixtureRequest) -> Iterator[Page]:
    sized.errors.clear()
    sized.prefer(request.param)
    sized.open(path)
    sized.settle()
    yield sized
    assert sized.errors == []


def width(page: Page) -> int:
    found: int = page.evaluate("innerWidth")
    return found


def details(page: Page) -> str:
    return text(page, "#details")


def kernel(page: Page) -> tuple[float, float]:
    """Return a point of the page that is in the first kernel."""
    page.evaluate("timeline.show(0, 3e6)")
    page.settle()
    events = [one for one in page.evaluate("timeline.shown()") if one["kind"] == "kernel"]
    x, y = page.evaluate(f"timeline.place({events[0]['event']})")
    return box(page, "canvas").left + x + 1, box(page, "canvas").top + y + 4


# ---- what is there ----


def test_no_text_is_clipped(page: Page) -> None:
    assert clipped(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width(page)
    page.evaluate("document.querySelector('#help-button').click()")
    assert clipped(page) == []


def test_rows_are_named_after_their_regions(page: Page) -> None:
    names = page.evaluate(
        "[...document.querySelectorAll('#entries tbody tr')]"
        ".map((row) => [row.cells[0].innerText, row.cells[0].title, row.cells[1].innerText])"
    )
    assert len(names) == REGIONS
    for shown, symbol, times in names:
        number = next(one for one in range(REGIONS) if symbol == TEMPLATE.format(one))
        whole = SHORT.format(number)
        assert whole == shown or whole.endswith(shown)
        assert f"{number}>::go:31" in shown
        assert times == str(DEVICES)


def test_three_devices_are_in_the_first_screen(page: Page) -> None:
    canvas = box(page, "canvas")
    groups = page.evaluate("timeline.groups()")
    assert [group["name"] for group in groups] == [
        "host, process 7",
        *(f"device {device} (host)" for device in range(DEVICES)),
    ]
    assert canvas.top + groups[-1]["quietY"] <= canvas.bottom + 10
    table = box(page, "#entries tbody tr:nth-child(3)")
    assert canvas.bottom < table.top < table.bottom <= 800


def test_the_lanes_have_the_room_that_they_need(page: Page) -> None:
    before = box(page, "canvas")
    page.press("f")
    folded = box(page, "canvas")
    assert folded.bottom < before.bottom
    assert all(group["isFolded"] for group in page.evaluate("timeline.groups()"))
    page.press("f")
    assert box(page, "canvas") == before


def test_quiet_lanes_are_folded_until_asked_for(page: Page) -> None:
    host = page.evaluate("timeline.groups()")[0]
    assert (host["quiet"], host["shown"]) == (1, ["thread 1"])
    left, top, *_ = box(page, "canvas")
    page.move(left + 30, top + host["quietY"], "mousePressed", button="left", clickCount=1)
    page.move(left + 30, top + host["quietY"], "mouseReleased", button="left", clickCount=1)
    assert page.evaluate("timeline.groups()")[0]["shown"] == ["thread 1", "thread 2"]


def test_a_heading_folds_its_lanes(page: Page) -> None:
    left, top, *_ = box(page, "canvas")
    group = page.evaluate("timeline.groups()")[1]
    for kind in ("mousePressed", "mouseReleased"):
        page.move(left + 40, top + group["y"], kind, button="left", clickCount=1)
    groups = page.evaluate("timeline.groups()")
    assert [group["isFolded"] for group in groups] == [False, True, False, False]
    assert groups[1]["shown"] == []
    assert groups[2]["y"] < group["y"] + 30
    # Search unfolds the lane of a hit, and goes to it.
    page.press("/")
    page.type("Many<double, 0>")
    for _ in range(2):
        page.press("Enter")
    assert not page.evaluate("timeline.groups()")[1]["isFolded"]


def test_details_hide_no_lane(page: Page) -> None:
    page.move(*kernel(page))
    assert details(page).split("\n")[0] == SHORT.format(0)
    assert not box(page, "#details").overlaps(box(page, "canvas"))
    assert box(page, "#details").right <= width(page)
    assert clipped(page) == []


# ---- colours ----


def test_a_kernel_has_one_colour_on_all_devices_and_on_the_host(page: Page) -> None:
    page.evaluate("timeline.show(0, 2e6)")
    page.settle()
    colours: dict[str, set[int]] = {}
    for event in page.evaluate("timeline.shown()"):
        if event["kind"] == "kernel":
            colour = page.evaluate(f"timeline.colour({event['event']})")
            colours.setdefault(event["name"], set()).add(colour)
            launch = event["launcher"]
            if event["name"] != TEMPLATE.format(6):
                assert page.evaluate(f"timeline.colour({launch})") == colour
    assert all(len(found) == 1 for found in colours.values())
    assert len({next(iter(found)) for found in colours.values()}) >= 5


def test_colours_of_kernels_differ_for_colour_blind_people(page: Page) -> None:
    found = page.evaluate(
        "[...Array(9).keys()].map((number) => { const one = document.createElement('i');"
        " one.style.color = `var(--region-${number})`; document.body.append(one);"
        " const { color } = getComputedStyle(one); one.remove(); return color; })"
    )
    colours = [tuple(map(int, one[4:-1].split(","))) for one in found]
    assert len(set(colours)) == 9
    for vision in VISIONS:
        for one, other in combinations(colours, 2):
            assert difference(one, other, vision) >= DIFFERENT, (vision, one, other)


# ---- gestures ----


def test_dragging_sums_a_range(page: Page) -> None:
    x, y = kernel(page)
    right = width(page) - 20
    before = view(page)
    drag(page, (x + 1, y), (right, y), shift=False)
    lines = details(page).split("\n")
    assert lines[0].startswith("Range of ")
    assert lines[1] == "from"
    shares = [lines[lines.index(f"device {device} (host)") + 1] for device in range(DEVICES)]
    assert all("busy with kernels" in share and "copying" in share for share in shares)
    percent = [float(share.split(" %")[0]) for share in shares]
    assert all(14 < one < 19 for one in percent)  # a kernel of 50 µs in each 300 µs
    assert any(line.endswith(" in 1 kernel") for line in lines)
    assert not box(page, "#details").overlaps(box(page, "canvas"))
    assert view(page) == before
    page.press("Escape")
    assert page.evaluate("document.querySelector('#details').hidden")


def test_a_range_of_many_regions_scrolls(page: Page) -> None:
    """All regions can be read, by wheel, finger and keys, and the button closes the box."""
    x, y = kernel(page)
    page.press("Home")
    drag(page, (x, y), (width(page) - 5, y), shift=False)
    panel = box(page, "#details")
    assert panel.bottom <= 800
    assert panel.right <= width(page)
    assert clipped(page) == []
    names = details(page).split("\n")
    assert sum("Many<double" in name for name in names) == REGIONS
    last = "#details dt:last-of-type"
    assert box(page, last).top > panel.bottom
    assert page.evaluate("document.querySelector('#details').classList.contains('goes-below')")
    page.move(panel.left + 20, panel.bottom - 40)
    page.move(panel.left + 20, panel.bottom - 40, "mouseWheel", deltaX=0, deltaY=5000)
    wait_for(page, "document.querySelector('#details').scrollTop > 100")
    assert box(page, last).bottom < panel.bottom
    assert box(page, "#details-title").top >= panel.top
    assert not page.evaluate("document.querySelector('#details').classList.contains('goes-below')")
    page.evaluate("document.querySelector('#close').click()")
    assert page.evaluate("document.querySelector('#details').hidden")


def test_arrows_scroll_a_box_with_the_focus(page: Page) -> None:
    page.press("r")
    before = view(page)
    page.evaluate("document.querySelector('#details').focus()")
    page.press("ArrowDown")
    wait_for(page, "document.querySelector('#details').scrollTop > 10")
    assert view(page) == before


def test_a_key_sums_what_is_selected(page: Page) -> None:
    page.press(".")
    page.press("r")
    assert details(page).startswith("Range of 90 µs\n")


def test_a_finger_marks_a_range_on_the_axis(page: Page) -> None:
    canvas = box(page, "canvas")
    y = canvas.top + 8
    touch(page, [(canvas.right - 150, y)], [(canvas.right - 100, y)], [(canvas.right - 50, y)])
    assert details(page).startswith("Range of ")


def test_two_fingers_zoom_and_one_pans(page: Page) -> None:
    begin, end = view(page)
    canvas = box(page, "canvas")
    x, y = (canvas.left + canvas.right) / 2, canvas.top + 60
    apart = [[(x - gap, y), (x + gap, y)] for gap in (20, 40, 80)]
    touch(page, *apart)
    inner = view(page)
    assert inner[1] - inner[0] == pytest.approx((end - begin) / 4, rel=0.05)
    touch(page, [(x, y)], [(x - 20, y)], [(x - 60, y)])
    panned = view(page)
    assert panned[0] > inner[0]
    assert panned[1] - panned[0] == pytest.approx(inner[1] - inner[0])


def test_a_search_counts_its_hits(page: Page) -> None:
    page.press("/")
    page.type("Many")
    assert text(page, "#hits") == f"{2 * REGIONS * DEVICES + 1} hits"
    for _ in range(2):
        page.press("Enter")
    assert text(page, "#hits") == f"2 of {2 * REGIONS * DEVICES + 1}"
    assert clipped(page) == []


def test_a_click_on_a_region_searches_for_it(page: Page) -> None:
    name = box(page, "#entries tbody tr:nth-child(2) td")
    page.evaluate(f"scrollTo(0, {name.top - 100})")
    name = box(page, "#entries tbody tr:nth-child(2) td")
    for kind in ("mousePressed", "mouseReleased"):
        page.move(name.left + 20, name.top + 5, kind, button="left", clickCount=1)
    assert page.evaluate("document.querySelector('#search').value") == SHORT.format(1)
    assert text(page, "#hits") == f"{2 * DEVICES} hits"
    page.press("Enter")
    assert details(page).startswith(SHORT.format(1))


def test_wide_tables_show_that_they_go_on(page: Page) -> None:
    """The edge of a table that is wider than the page fades until it is scrolled to the end."""
    table = "document.querySelector('.table')"
    is_cut = page.evaluate(f"{table}.scrollWidth > {table}.clientWidth")
    assert is_cut == (width(page) == 400)
    assert page.evaluate(f"{table}.classList.contains('goes-on')") == is_cut
    page.evaluate(f"{table}.scrollLeft = 1000")
    page.settle()
    assert not page.evaluate(f"{table}.classList.contains('goes-on')")
    name = box(page, "#entries tbody td")
    assert 0 <= name.left < 30  # the names stay in view


# ---- names ----

CASES = {
    ("a::b::f<int>(int, double):5", 12): "b::f<int>:5",
    ("a::b::f<int>(int, double):5", 10): "f<int>:5",
    ("a::b::f<int>(int, double):5", 40): "a::b::f<int>(int, double):5",
    ("f(int (*)(double)):5", 8): "f:5",
    ("(anonymous namespace)::f:5", 9): "(a…)::f:5",
    ("operator()(int) const", 12): "operator()",
    ("ns::a_function_with_a_name:123", 15): "a_fu…a_name:123",
    ("a::forall<b::device, halo::{lambda#1}>:15", 24): "forall<b::devic…halo…:15",
    ("a::forall<b::device, halo::{lambda#1}>:15", 9): "…halo…:15",
    ("a::forall<b::device, halo::{lambda#1}>:15", 8): "fo…}>:15",
    ("f<g::{lambda#1}>", 10): "f<…g…",
    ("abcdefghij", 2): "",
    ("abcdefghij", 10): "abcdefghij",
}


def test_names_keep_their_end(page: Page) -> None:
    found = {
        case: page.evaluate(f"timeline.shortened({json.dumps(case[0])}, {case[1]})")
        for case in CASES
    }
    for (_, letters), short in found.items():
        assert len(short) <= letters
    assert found == CASES
