# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A tool of OMPT that records events of devices, and programs that run with it."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from clangs import CLANG, made
from places import TESTS

OBSERVING = TESTS / "programs" / "observing"
# Callbacks that report begin and end, or need no end. PLAIN has the older forms, which report once.
EMI = ["device_initialize", "device_finalize", "device_load", "device_unload"]
EMI += ["target_emi", "target_data_op_emi", "target_submit_emi", "target_map_emi"]
PLAIN = [name.removesuffix("_emi") for name in EMI]


class Event(NamedTuple):
    """One line of a record: its first word, or two, and its values by name."""

    name: str
    values: dict[str, str]

    def __str__(self) -> str:
        return " ".join([self.name, *(f"{name}={value}" for name, value in self.values.items())])


def recorder(into: Path) -> Path:
    """Return the tool as a shared library, made once in a run of the tests."""
    flags = ("-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror")
    return made(into / "librecorder.so", CLANG[".c"], *flags, OBSERVING / "recorder.c", "-ldl")


def recorded(
    program: Path | Sequence[str],
    libraries: str,
    callbacks: Sequence[str] = EMI,
    code: int | None = 0,
    folder: Path | None = None,
    **environment: str,
) -> list[Event]:
    """Run a program with the tool, and return the recorded events.

    The program finds its runtime in `libraries`. The addresses of code, stacks and variables are
    those of any other run: the loader places nothing at random, and the environment has one size.
    `code` is the expected exit code; None: any. `folder`, by default the program's, is for the tool
    and its record.
    """
    folder = folder or Path(program if isinstance(program, Path) else program[0]).parent
    record = folder / "record"
    record.unlink(missing_ok=True)
    own = environment | {
        "LD_LIBRARY_PATH": libraries,
        "OMP_TOOL_LIBRARIES": str(recorder(folder)),
        "RECORD": str(record),
        "RECORD_CALLBACKS": ",".join(callbacks),
    }
    size = sum(len(name) + len(value) for name, value in own.items())
    command = [str(program)] if isinstance(program, Path) else list(program)
    done = subprocess.run(
        ["setarch", "-R", *command],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=os.environ | {"OMP_TARGET_OFFLOAD": "MANDATORY"} | own | {"PAD": "x" * (4096 - size)},
    )
    assert code is None or done.returncode == code, done.stderr
    return [_event(line) for line in record.read_text().splitlines()] if record.exists() else []


def _event(line: str) -> Event:
    line, is_there, kind = line.partition(" type=")  # which has blanks, and comes last
    words = line.split()
    named = [word for word in words if "=" in word]
    name = " ".join(word for word in words if "=" not in word)
    values = dict(word.split("=", 1) for word in named)
    return Event(name, values | ({"type": kind} if is_there else {}))


def of_device(events: list[Event], number: int = 0) -> list[Event]:
    """Leave out events of other devices, and those of the tool itself."""
    others = ("tool", "start", "set", "end")
    return [
        event
        for event in events
        if event.name.split()[0] not in others
        and event.values.get("device", str(number)) == str(number)
    ]


def numbered(events: list[Event], host: int) -> list[str]:
    """Return the events as lines that are equal on two runtimes.

    The host's number becomes "host". Addresses and numbers of constructs and operations are counted
    in the order in which they appear; each allocation gives its address a new number.
    """
    number = itertools.count()
    names: dict[str, str] = {}
    lines = []
    for event in events:
        if event.values.get("op") == "1" and event.values.get("endpoint", "2") == "2":
            names.pop(event.values["to"].partition("@")[0], None)
        line = re.sub(rf"@{host}\b", "@host", str(event))

        def name(found: re.Match[str]) -> str:
            if found[0] not in names:
                names[found[0]] = f"A{next(number)}"
            return names[found[0]]

        lines.append(re.sub(r"0x[0-9a-f]{5,}", name, line))
    return lines


# ---- what OpenMP 5.2 asks of every record ----


def faults(events: list[Event]) -> list[str]:
    """Return the faults in the order of begin and end events, and in their values."""
    return list(_faults(events))


def _faults(events: list[Event]) -> Iterator[str]:
    open_targets: set[str] = set()
    seen_targets: set[str] = {"0"}  # 0 stands for no construct
    open_operations: set[str] = set()
    memory: dict[str, str] = {}  # allocated, and its size
    for event in events:
        values = event.values
        if event.name in ("target", "data_op", "submit"):
            mine = open_targets if event.name == "target" else open_operations
            number = values["target" if event.name == "target" else "id"]
            if values["endpoint"] == "1":
                mine.add(number)
            elif number not in mine:
                yield f"ends without a begin: {event}"
            else:
                mine.remove(number)
        if event.name == "target":
            seen_targets.add(values["target"])
        elif event.name in ("data_op", "submit", "map") and values["target"] not in (
            open_targets | {"0"}
        ):
            yield f"out of its construct: {event}"
        if values.get("code", "program") != "program":
            yield f"not called by the program: {event}"
        # Another thread may get the address as soon as its deletion begins.
        if event.name == "data_op" and values["endpoint"] == ("1" if values["op"] == "4" else "2"):
            yield from _faults_of_memory(event, memory)
    yield from (f"does not end: {number}" for number in (*open_targets, *open_operations))
    yield from (f"is not freed: {there}" for there in memory)


def _faults_of_memory(event: Event, memory: dict[str, str]) -> Iterator[str]:
    """Yield deletions of unallocated memory and empty copies; update `memory`."""
    operation, size = event.values["op"], int(event.values["size"])
    source, there = (event.values[side].partition("@")[0] for side in ("from", "to"))
    if operation == "1":
        memory[there] = event.values["size"]
    elif operation == "4":
        if memory.pop(source, None) is None:
            yield f"frees what was not allocated: {event}"
    elif operation in ("2", "3") and (size == 0 or "(nil)" in (source, there)):
        yield f"copies nothing: {event}"
