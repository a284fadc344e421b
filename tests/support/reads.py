# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A command's reads of its files: opens and bytes, counted by strace."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from machine import lacks

CALLS = "%process,open,openat,openat2,read,readv,pread64,preadv,preadv2,copy_file_range,mmap"
_LINE = re.compile(r"(\d+) +(\w+)\((.*)\) += (\w+)(?:<(.*)>)?.*")
_FIRST = re.compile(r"\d+<([^<>]*)>")  # the file that a call reads from
_MAPPED = re.compile(r"[^,]*, (\d+), [^,]*, [^,]*, \d+<([^<>]*)>")


class Reads(NamedTuple):
    """How often a process opened a file, and how many of its bytes it read."""

    opens: int
    bytes: int


class _Call(NamedTuple):
    process: str
    name: str
    arguments: str
    result: str
    file: str  # the opened file


def reads(
    folder: Path, command: Sequence[object], *files: Path, stdin: Path | None = None
) -> list[Reads]:
    """Run a command and return its own reads of each of `files`; `stdin` is its input.

    Threads count; processes that it starts (linkers, compilers, the probe of plugins) do not.
    """
    if not shutil.which("strace"):
        lacks("strace is not here: apt-get install strace")
    log = folder / "reads.strace"
    # -y shows a descriptor's file, -z drops failed calls; strace stops at no other call.
    options = ["-f", "--seccomp-bpf", "-y", "-z", "-qq", "-s", "0", "-e"]
    traced = ["strace", *options, f"trace={CALLS}", "-o", str(log)]
    words = [*traced, *map(str, command)]
    with (stdin or Path(os.devnull)).open("rb") as given:
        done = subprocess.run(words, capture_output=True, text=True, check=False, stdin=given)
    if "ptrace" in done.stderr:
        lacks("this process may not trace another")
    assert done.returncode == 0, done.stderr
    calls = list(_own(_calls(log.read_text())))
    return [_of(calls, str(file.resolve())) for file in files]


def _calls(text: str) -> Iterator[_Call]:
    """Yield the calls in a log; join the two halves of an interrupted call."""
    begun: dict[str, str] = {}
    for line in text.splitlines():
        process = line.split(" ", 1)[0]
        if line.endswith(" <unfinished ...>"):
            begun[process] = line.removesuffix(" <unfinished ...>")
            continue
        if " resumed>" in line:
            line = begun.pop(process) + line.partition(" resumed>")[2]
        if match := _LINE.fullmatch(line):
            yield _Call(match[1], match[2], match[3], match[4], match[5] or "")


def _own(calls: Iterator[_Call]) -> Iterator[_Call]:
    """Yield the calls of the first process and its threads."""
    threads: set[str] = set()
    for call in calls:
        threads = threads or {call.process}
        if call.process not in threads:
            continue
        if call.name.startswith("clone") and "CLONE_THREAD" in call.arguments:
            threads.add(call.result)
        yield call


def _of(calls: Sequence[_Call], file: str) -> Reads:
    opens = sum(call.file == file for call in calls if call.name.startswith("open"))
    return Reads(opens, sum(_read(call, file) for call in calls))


def _read(call: _Call, file: str) -> int:
    """Return the bytes of `file` that a call reads or maps."""
    if call.name == "mmap":
        mapped = _MAPPED.match(call.arguments)
        return int(mapped[1]) if mapped and mapped[2] == file else 0
    source = _FIRST.match(call.arguments)
    return int(call.result) if source and source[1] == file else 0
