# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measure the CPU time of building a project with regions, by omptool and by clang alone.

Usage: python bench/project.py [--sources 200] [--runs 1] [--llvm 19] [make|ninja...]

Make and Ninja build the same sources to one program with `omptool cc` and `omptool link`, and with
clang: from scratch, and after one source has changed. Both programs have omptool's libomptarget.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path

from measure import Measured, costs

from build import OFFLOADING, REGION, Inputs

MAKEFILE = """CC = %(cc)s
OBJECTS = %(objects)s
app: $(OBJECTS)
\t%(link)s $(OBJECTS) -o app %(libraries)s
%%.o: %%.c
\t$(CC) -O1 -MMD -MF $@.d -c $< -o $@
"""
NINJA = """rule cc
  command = %(cc)s -O1 -MMD -MF $out.d -c $in -o $out
  depfile = $out.d
  deps = gcc
rule link
  command = %(link)s $in -o $out %(libraries)s
build app: link %(objects)s
"""
COMMANDS = {"make": "make -s -j2", "ninja": "ninja --quiet -j2"}
CLEAN = "rm -rf *.o *.d app .ninja*"


def main() -> None:
    """Generate both projects, measure, and print a table for each row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tools", nargs="*", default=list(COMMANDS), metavar="make|ninja")
    parser.add_argument("--sources", type=int, default=200)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--llvm", default="19")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        (work / "inputs").mkdir()
        inputs = Inputs(work / "inputs", options.llvm)
        sides = list(projects(work, inputs, options.sources))
        for tool in options.tools:
            for change in ("from scratch", "after one change"):
                print(f"\n{tool}, {options.sources} sources, {change}")
                rows = [Measured(name, built(place, tool, change)) for name, place in sides]
                print(costs(rows, options.runs))


def projects(work: Path, inputs: Inputs, count: int) -> Iterator[tuple[str, Path]]:
    """Yield the projects' names and folders; clang's is the last."""
    clang = inputs.tool("clang")
    offloading = f"{clang} {' '.join(OFFLOADING)}"
    commands = {
        "omptool": (f"omptool cc -- {clang}", f"omptool link -- {offloading}"),
        "clang": (offloading, offloading),
    }
    for name, (compile_one, link) in commands.items():
        place = work / name
        place.mkdir()
        names = [f"f{number}" for number in range(count)]
        for number, source in enumerate(names):
            (place / f"{source}.c").write_text(REGION % (number, number))
        (place / "main.c").write_text("int main(void) { return 0; }\n")
        objects = " ".join(f"{source}.o" for source in ("main", *names))
        libraries = " ".join(inputs.library)
        words = {"cc": compile_one, "link": link, "objects": objects, "libraries": libraries}
        (place / "Makefile").write_text(MAKEFILE % words)
        edges = "".join(f"build {source}.o: cc {source}.c\n" for source in ("main", *names))
        (place / "build.ninja").write_text(NINJA % words + edges)
        yield name, place


def built(place: Path, tool: str, change: str) -> list[str]:
    """Return the command of a build."""
    before = CLEAN if change == "from scratch" else "touch f0.c"
    return ["env", "-C", str(place), "sh", "-c", f"{before}; exec {COMMANDS[tool]}"]


if __name__ == "__main__":
    main()
