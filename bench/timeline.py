# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measure `omptool timeline` and its page: traces of 200,000 and of 2,000,000 events.

Usage: python bench/timeline.py [--runs 5] [--events 200000 2000000]

The traces have what the runtime writes: regions of four threads on two devices, with copies. The
first picture counts from the moment at which headless Chromium begins to load the page. A zoom is
the time that the page takes to draw the next picture.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from measure import Figures, figures
from tabulate import tabulate

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
import browser

OMPTOOL = str(Path(sys.executable).with_name("omptool"))
ZOOMS = 12
COUNTS = (200_000, 2_000_000)
HEADERS = (
    "trace",
    "MB",
    "command s",
    "of them cpu",
    "peak MiB",
    "page MB",
    "json.load cpu s",
    "first picture s",
    "a zoom ms",
    "slowest ms",
)


class Event(NamedTuple):
    """An event as the runtime records it, in nanoseconds."""

    process: int  # 1: the host; 2 and up: devices
    thread: int
    name: str
    begin: int
    duration: int  # 0: an instant
    args: Mapping[str, int | str]


def main() -> None:
    """Make the traces, measure, print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--events", type=int, nargs="+", default=COUNTS)
    asked = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for count in asked.events:
            for form, make in MAKERS.items():
                trace = Path(folder, f"trace.{form}")
                make(trace, count)
                rows.append(row(f"{count:,} events, {form}", trace, asked.runs))
                trace.unlink()
    print(tabulate(rows, HEADERS, disable_numparse=True))


def row(name: str, trace: Path, runs: int) -> tuple[str, ...]:
    """Return the figures of a trace."""
    page = trace.with_suffix(".html")
    commands = [figures([OMPTOOL, "timeline", str(trace), "-o", str(page)]) for _ in range(runs)]
    pictures, zooms = zip(*(shown(page) for _ in range(runs)), strict=True)
    return (
        name,
        f"{trace.stat().st_size / 1e6:.0f}",
        spread([run.wall for run in commands]),
        spread([run.cpu for run in commands]),
        f"{max(run.peak for run in commands):.0f}",
        f"{page.stat().st_size / 1e6:.0f}",
        parsed(trace) if trace.suffix == ".json" else "",
        spread(pictures),
        f"{median(median(run) for run in zooms):.1f}",
        f"{max(max(run) for run in zooms):.1f}",
    )


def spread(values: Sequence[float]) -> str:
    """Return the median and the range."""
    return f"{median(values):.2f} ({min(values):.2f}-{max(values):.2f})"


def parsed(trace: Path) -> str:
    """Return the CPU seconds that Python takes to parse the whole file, for comparison."""
    code = "import json, sys; json.load(open(sys.argv[1]))"
    done: Figures = figures([sys.executable, "-c", code, str(trace)])
    return f"{done.cpu:.2f}"


def shown(page: Path) -> tuple[float, list[float]]:
    """Return the seconds to the first picture, and the milliseconds of each zoom."""
    found = browser.executable()
    if found is None:
        sys.exit("Error: this machine has no Chromium; install the package chromium")
    with browser.page(found, 1600, 1000) as one:
        one.open(page)
        first = one.evaluate("timeline.firstPicture") / 1000
        zooms = []
        for number in range(ZOOMS):
            one.press("w" if number < ZOOMS - 4 else "s")
            zooms.append(one.evaluate("timeline.took.draw"))
        if one.errors:
            sys.exit(f"Error: {page}: {one.errors[0]}")
    return first, zooms


# ---- traces ----


def events(count: int) -> Iterator[Event]:
    """Yield `count` events: regions with two copies each, one after the other on each thread."""
    time, region = 0, 0
    while count > 0:
        region += 1
        thread, device, line = region % 4 + 1, region % 2, region % 40 + 6
        kernel = f"__omp_offloading_fe00_5368f3_main_l{line}"
        size, length = 8 << region % 18, 2000 + region * 7919 % 5000
        part: dict[str, int | str] = {"construct": region}
        moved = part | {"bytes": size}
        mapped = moved | {"host": f"{0x7F0000000000 + region % 4096 * 64:#x}", "references": 1}
        on_device, on_host = (device + 2, thread), (1, thread)
        whole = part | {"device": device, "source": f"app.c:{line}:1"}
        row = (
            Event(*on_device, "allocate", time, 800, moved),
            Event(*on_device, "copy to device", time + 900, 1500, moved),
            Event(*on_host, "map", time + 2500, 0, mapped),
            Event(*on_device, kernel, time + 2600, length, part),
            Event(*on_host, "unmap", time + 2700 + length, 0, mapped | {"references": 0}),
            Event(*on_device, "copy to host", time + 2800 + length, 1300, moved),
            Event(*on_device, "free", time + 4200 + length, 150, part),
            Event(*on_host, "target", time - 50, length + 4500, whole),
        )
        yield from row[:count]
        count -= len(row)
        time += 2500


def make_json(path: Path, count: int) -> None:
    """Write a trace as the runtime's JSON."""
    with path.open("w") as file:
        file.write("[\n")
        for process, name in PROCESSES.items():
            args = {"name": name}
            file.write(as_json({"ph": "M", "pid": process, "name": "process_name", "args": args}))
        for event in events(count):
            kind = {"ph": "X"} if event.duration else {"ph": "i", "s": "t"}
            length = {"dur": event.duration / 1000} if event.duration else {}
            place = {"pid": event.process, "tid": event.thread, "ts": event.begin / 1000}
            file.write(as_json(kind | place | length | {"name": event.name, "args": event.args}))
        file.write('{"ph":"M","pid":1,"name":"trace_end","args":{}}]\n')


def as_json(event: dict[str, object]) -> str:
    """Return a line of the array."""
    return json.dumps(event, separators=(",", ":")) + ",\n"


PROCESSES = {1: "host, process 4242", 2: "device 0 (host)", 3: "device 1 (host)"}
ARGUMENTS = (
    *("", "bytes", "construct", "references", "host", "source", "reason", "failed"),
    *("device", "entry"),
)


def make_pftrace(path: Path, count: int) -> None:
    """Write a trace as the runtime's protobuf."""
    keys = [(1, number, ARGUMENTS[number]) for number in range(1, len(ARGUMENTS))]
    tracks: dict[tuple[int, int], int] = {}
    names: dict[str, int] = {}
    known: set[tuple[int, str]] = set()
    start = message((10, 1), (13, 1), (12, message(*((3, key(*one[1:])) for one in keys))))
    with path.open("wb") as file:
        file.write(message((1, start)))
        for process, name in PROCESSES.items():
            track = message((1, process), (2, name))
            file.write(message((1, message((10, 1), (60, track)))))
        for event in events(count):
            place = (event.process, event.thread)
            if place not in tracks:
                tracks[place] = 11 + 2 * len(tracks)
                lane = message((1, tracks[place]), (2, f"thread {place[1]}"), (5, place[0]))
                file.write(message((1, message((10, 1), (60, lane)))))
            file.write(packets(event, tracks[place], names, known))


def packets(event: Event, track: int, names: dict[str, int], known: set[tuple[int, str]]) -> bytes:
    """Return the packet of an instant, or those of a begin and an end.

    `names` are the numbers of texts, `known` those already in the file, by field of InternedData.
    """
    interned: list[tuple[int, bytes]] = []

    def number(field: int, text: str) -> int:
        if text not in names:
            names[text] = len(names) + 1
        if (field, text) not in known:
            known.add((field, text))
            interned.append((field, key(names[text], text)))
        return names[text]

    def argument(name: str, value: int | str) -> bytes:
        """Return a DebugAnnotation."""
        if name == "host":
            value = int(str(value), 16)
        is_text = isinstance(value, str)
        field = (17, number(29, str(value))) if is_text else (3, value)
        return message((1, ARGUMENTS.index(name)), field)

    name = number(2, event.name)
    args = [(4, argument(*one)) for one in event.args.items()]
    kind = 1 if event.duration else 3
    first = message((9, kind), (11, track), (10, name), *args)
    begin = max(0, event.begin)
    brought = [(12, message(*interned))] if interned else []
    data = message((1, message((8, begin), (10, 1), (13, 2), *brought, (11, first))))
    if event.duration:
        last = message((9, 2), (11, track))
        data += message((1, message((8, begin + event.duration), (10, 1), (11, last))))
    return data


def key(number: int, name: str) -> bytes:
    """Return an interned name."""
    return message((1, number), (2, name))


def message(*fields: tuple[int, int | str | bytes]) -> bytes:
    """Return a message of protobuf."""
    data = bytearray()
    for number, value in fields:
        if isinstance(value, int):
            data += varint(number << 3) + varint(value)
        else:
            encoded = value.encode() if isinstance(value, str) else value
            data += varint(number << 3 | 2) + varint(len(encoded)) + encoded
    return bytes(data)


def varint(number: int) -> bytes:
    """Return a number of protobuf."""
    data = bytearray()
    while number >= 0x80:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    data.append(number)
    return bytes(data)


MAKERS: dict[str, Callable[[Path, int], None]] = {"json": make_json, "pftrace": make_pftrace}


if __name__ == "__main__":
    main()
