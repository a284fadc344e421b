# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Read a shown page as a person does: its texts and boxes; and gestures of mouse and fingers."""

from __future__ import annotations

import json
from typing import NamedTuple

import browser
from browser import Page
from machine import lacks

CLIPPED = """[...document.querySelectorAll(
  'h1, p, li, label, button, caption, th, td, dt, dd, strong')]
.filter((one) => one.offsetParent && one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0)
.map((one) => one.textContent)"""


def chromium() -> str:
    """Return the browser of this machine, without which a test ends."""
    found = browser.executable()
    if found is None:
        lacks("this machine has no Chromium")
    return found


def text(page: Page, selector: str) -> str:
    """Return the text of an element."""
    found: str = page.evaluate(f"document.querySelector({json.dumps(selector)}).innerText")
    return found


def view(page: Page) -> tuple[float, float]:
    """Return the begin and the end of the time that the timeline shows."""
    begin, end = page.evaluate("[timeline.view.begin, timeline.view.end]")
    return begin, end


class Box(NamedTuple):
    """The place of an element, in pixels of the page."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Box) -> bool:
        """Return whether both boxes share a pixel."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )


def box(page: Page, selector: str) -> Box:
    """Return the place of an element."""
    left, top, right, bottom = page.evaluate(
        "(({ left, top, right, bottom }) => [left, top, right, bottom])"
        f"(document.querySelector('{selector}').getBoundingClientRect())"
    )
    return Box(left, top, right, bottom)


def clipped(page: Page) -> list[str]:
    """Return the texts of elements that are wider than the room that they have."""
    found: list[str] = page.evaluate(CLIPPED)
    return found


def drag(page: Page, begin: tuple[float, float], end: tuple[float, float], *, shift: bool) -> None:
    """Press the left button of the mouse, move, and release it."""
    keys = 8 * shift
    page.move(*begin, "mousePressed", button="left", clickCount=1, modifiers=keys)
    page.move(*end, button="left", buttons=1, modifiers=keys)
    page.move(*end, "mouseReleased", button="left", clickCount=1, modifiers=keys)


def touch(page: Page, *steps: list[tuple[float, float]]) -> None:
    """Put fingers down at the first step's points, move them through the others, and lift them."""
    for number, points in enumerate(steps):
        kind = "touchMove" if number else "touchStart"
        fingers = [{"x": x, "y": y, "id": id} for id, (x, y) in enumerate(points)]
        page.call("Input.dispatchTouchEvent", type=kind, touchPoints=fingers)
        page.settle()
    page.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    page.settle()


def wait_for(page: Page, condition: str) -> None:
    """Wait until an expression holds, such as one about a box that scrolls smoothly."""
    for _ in range(200):
        if page.evaluate(condition):
            return
        page.settle()
    raise AssertionError(f"never: {condition}")
