# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Target constructs on the bundled runtime beside LLVM's own libomptarget, 19 and 22.

Usage: python bench/launch.py [--runs 5] [--objects 100000 1000000] [--part NAME]... [--build DIR]

bench/launch.c, compiled by clang-19 and by clang-22 (scripts/compilers.sh unpacks it), runs on
the runtime of LLVM and on ours in turn; a ratio is the median of the ratios of neighbouring runs.
bench/nowait.c is the program of the part nowait, bench/rows.c that of the part rows. The latter
opens 200 copies of a shared library with a target region.
Offloading is mandatory, so that nothing is measured that ran on the host.

No libomptarget of LLVM 23 is to be had: the program by clang 23 is measured beside the same by 22,
both on ours.

Constructs over the queue of our CPU device are measured beside the same without it.

With --build, ours is compared with another build of it, whose libraries are in that folder; if that
has no queues, only ours is measured over them.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median

from measure import in_turn
from tabulate import tabulate

from omptool.installation import libdir

HERE = Path(__file__).parent
UNPACKED = HERE.parent / "build" / "compilers"
FLAGS = ("-O2", "-fopenmp", "-fopenmp-targets=x86_64-pc-linux-gnu", "-lpthread")
PARTS = ("constructs", "nowait", "rows", "queued", "objects", "threads", "bandwidth", "register")
OPENED = 200
QUEUED = {"OMPTOOL_HOST_QUEUES": "1"}
Figures = dict[str, float]


@dataclass(frozen=True)
class Compiler:
    """A clang, where its own runtimes are, and how many times faster than them we want to be."""

    version: int
    command: Path
    libraries: tuple[Path, ...]
    target: int
    of_updates: int  # factor for `target update`

    def path(self, *first: Path) -> str:
        return ":".join(map(str, (*first, *self.libraries)))


CLANG_19 = Compiler(19, Path("/usr/bin/clang-19"), (Path("/usr/lib/llvm-19/lib"),), 20, 13)
CLANG_22 = Compiler(
    22,
    UNPACKED / "22/usr/lib/llvm-22/bin/clang",
    (UNPACKED / "22/usr/lib/x86_64-linux-gnu", UNPACKED / "22/usr/lib/llvm-22/lib"),
    15,
    10,
)
CLANG_23 = Compiler(
    23,
    UNPACKED / "23/usr/lib/llvm-23/bin/clang",
    # Without a libomp of its own: both programs have that of 22.
    (UNPACKED / "23/usr/lib/llvm-23/lib", *CLANG_22.libraries),
    0,
    0,
)


@dataclass(frozen=True)
class Program:
    """bench/launch.c, or another source, as one compiler makes it."""

    compiler: Compiler
    path: Path

    @classmethod
    def compile(
        cls, compiler: Compiler, into: Path, source: Path = HERE / "launch.c", *more: str
    ) -> Program:
        path = into / f"{source.stem}-{compiler.version}"
        command = [str(compiler.command), *FLAGS, str(source), "-lm", *more, "-o", str(path)]
        environment = os.environ | {"LD_LIBRARY_PATH": compiler.path()}
        subprocess.run(command, check=True, env=environment)
        return cls(compiler, path)

    def of_tasks(self, into: Path) -> Program:
        return self.compile(self.compiler, into, HERE / "nowait.c")

    def of_rows(self, into: Path) -> Program:
        return self.compile(self.compiler, into, HERE / "rows.c", "-ldl")

    def libraries(self, into: Path) -> list[Path]:
        """Compile a library with one region, and return copies of it."""
        first = self.compile(self.compiler, into, HERE / "rows.c", "-DLIBRARY", "-shared", "-fPIC")
        copies = [into / f"opened-{self.compiler.version}-{number}.so" for number in range(OPENED)]
        for copy in copies:
            shutil.copyfile(first.path, copy)
        first.path.unlink()
        return copies

    def on(self, libraries: str, *arguments: object, **more: str) -> Figures:
        """Return what it prints when it runs with the libraries of that search path."""
        environment = os.environ | more
        environment |= {
            "LD_LIBRARY_PATH": libraries,
            "OMP_TARGET_OFFLOAD": "MANDATORY",
            "OMP_NUM_THREADS": "2",
        }
        command = [str(self.path), *map(str, arguments)]
        # libomp may fail an assertion when a task is made while a kernel has opened a parallel
        # region (docs/runtime.md), whatever the libomptarget: such a run is repeated.
        for _ in range(5):
            done = subprocess.run(
                command, env=environment, stdout=subprocess.PIPE, text=True, check=False
            )
            if done.returncode != -signal.SIGABRT:
                break
        done.check_returncode()
        lines = (line.split() for line in done.stdout.splitlines())
        return {name: float(figure) for name, figure in lines}

    def on_ours(self, *arguments: object, **more: str) -> Figures:
        return self.on(self.compiler.path(libdir()), *arguments, **more)

    def on_llvm(self, *arguments: object) -> Figures:
        return self.on(self.compiler.path(), *arguments)


def main() -> None:
    """Compile, measure, print a table for each part."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--objects", type=int, nargs=2, default=(100_000, 1_000_000))
    parser.add_argument("--part", choices=PARTS, action="append")
    parser.add_argument("--build", type=Path, help="compare with another build of the runtime")
    options = parser.parse_args()
    parts = options.part or PARTS
    with tempfile.TemporaryDirectory() as folder:
        programs = [
            Program.compile(compiler, Path(folder))
            for compiler in (CLANG_19, CLANG_22)
            if compiler.command.exists()
        ]
        if CLANG_22 not in [program.compiler for program in programs]:
            print("clang-22 is not here: scripts/compilers.sh unpacks it", file=sys.stderr)
        if options.build:
            beside_build(programs, options.build, parts, options.objects[0], options.runs)
            return
        if "constructs" in parts:
            for program in programs:
                beside_llvm(program, options.runs, "constructs")
            if CLANG_23.command.exists() and CLANG_22.command.exists():
                beside_22(Program.compile(CLANG_23, Path(folder)), programs[-1], options.runs)
            else:
                print("clang-23 is not here: scripts/compilers.sh unpacks it", file=sys.stderr)
        if "nowait" in parts:
            for program in programs:
                beside_llvm(program.of_tasks(Path(folder)), options.runs)
        if "rows" in parts:
            for program in programs:
                libraries = program.libraries(Path(folder))
                beside_llvm(program.of_rows(Path(folder)), options.runs, *libraries)
        if "queued" in parts:
            for program in programs:
                over_the_queue(program, options.runs)
        if "objects" in parts:
            few, many = options.objects
            for program in programs:
                beside_llvm(program, options.runs, "objects", few)
            growth(programs[0], few, many, options.runs)
        for part in ("threads", "bandwidth", "register"):
            if part in parts:
                ours_alone(programs, part, options.runs)


# These rows are measured in nanoseconds or milliseconds; all others are speeds or their ratios.
TIME = re.compile(
    r"^(empty|scalar|map-.*|present|update-.*|enter|launch|leave|.*-ms"
    r"|chain-.*|.*-at-once|10-.*|taskgroup-.*|overlapped-.*|.*loops?-of-.*"
    r"|mapper-.*|members?(-.*)?|pointers-.*|firstprivate-.*|(block|strided)-update|scattered-.*"
    r"|associate|is-present|mapped-ptr|small-.*|libraries-.*)$"
)

# The most time that these rows of bench/rows.c may take, as a part of LLVM's.
ROWS = {
    r"mapper-.*": 0.3,
    r"member(-present)?": 0.1,
    r"members-.*|pointers-.*": 0.12,
    r"firstprivate-.*": 0.1,
    r"(block|strided)-update": 0.12,
    r"scattered-.*": 0.2,
    r"associate|is-present|mapped-ptr": 0.3,
    r"libraries-.*": 0.4,
}


# Rows of bench/nowait.c, and those whose kernels use all processors.
TASKS = re.compile(r"^(chain-|64-at-once|10-|taskgroup-|overlapped-|.*loops?-of-)")
ALL_PROCESSORS = re.compile(r"loops?-of-(262144|20000|100us|1ms)|overlapped-100us")


def show(title: str, headers: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """Print one table."""
    print(f"\n{title}\n")
    print(tabulate(rows, headers=headers, tablefmt="github", disable_numparse=True), flush=True)


def asked(compiler: Compiler, name: str) -> str:
    """Return how many times faster than LLVM's runtime this row has to be."""
    if name in ("enter", "launch", "leave"):
        return "8" if compiler is CLANG_19 else ""
    for row, part in ROWS.items():
        if re.fullmatch(row, name):
            return f"{1 / part:.1f}"
    if name.startswith("small-"):
        return ""
    if TASKS.search(name):
        return "1.0" if ALL_PROCESSORS.search(name) else "1.11"
    return str(compiler.of_updates if name.startswith("update") else compiler.target)


def beside_llvm(program: Program, runs: int, *arguments: object) -> None:
    """Print times on our runtime and on LLVM's, and the ratio."""
    ours, llvm = in_turn(
        runs, partial(program.on_ours, *arguments), partial(program.on_llvm, *arguments)
    )
    rows = []
    for name in ours[0]:
        ratio = median(b[name] / a[name] for a, b in zip(ours, llvm, strict=True))
        goal = asked(program.compiler, name)
        rows.append((name, middle(ours, name), middle(llvm, name), f"{ratio:.2f}", goal))
    version = program.compiler.version
    part = program.path.stem.partition("-")[0]
    if part == "launch":
        part = " ".join(map(str, arguments))
    title = f"{part}: clang {version}, nanoseconds"
    show(title, ("what", "ours", f"LLVM {version}", "times faster", "asked for"), rows)


def beside_22(by_23: Program, by_22: Program, runs: int) -> None:
    """Print times of a program by clang 23 and of the same by clang 22, both on our runtime."""
    search = CLANG_22.path(libdir())
    newer, older = in_turn(
        runs, partial(by_23.on, search, "constructs"), partial(by_22.on, search, "constructs")
    )
    rows = []
    for name in newer[0]:
        ratio = median(b[name] / a[name] for a, b in zip(newer, older, strict=True))
        rows.append((name, middle(newer, name), middle(older, name), f"{ratio:.2f}"))
    show("constructs: ours, nanoseconds", ("what", "clang 23", "clang 22", "22 / 23"), rows)


def over_the_queue(program: Program, runs: int) -> None:
    """Print times over the queue, and the ratio to those without."""
    queued, at_once = in_turn(
        runs,
        partial(program.on_ours, "constructs", **QUEUED),
        partial(program.on_ours, "constructs"),
    )
    rows = []
    for name in queued[0]:
        ratio = median(a[name] / b[name] for a, b in zip(queued, at_once, strict=True))
        rows.append((name, middle(queued, name), middle(at_once, name), f"{ratio:.1f}"))
    title = f"constructs over the queue: clang {program.compiler.version}, nanoseconds"
    show(title, ("what", "queued", "at once", "times as long"), rows)


def beside_build(
    programs: Sequence[Program], build: Path, parts: Sequence[str], count: int, runs: int
) -> None:
    """Print figures of ours and of another build, and the ratio."""
    rows = []
    for program, part in product(programs, parts):
        rows += rows_beside(program, build, part, count, runs)
    show(f"{runs} alternated pairs", ("what", "ours", "other build", "times as good"), rows)


def rows_beside(
    program: Program, build: Path, part: str, count: int, runs: int
) -> list[tuple[str, ...]]:
    """Return the figures of one part; without a ratio if the other build lacks the part."""
    folder = program.path.parent
    of_part: dict[str, tuple[object, ...]]
    of_part = {"queued": ("constructs",), "objects": (part, count), "nowait": ()}
    if part == "rows":
        of_part[part] = tuple(program.libraries(folder))
    arguments = of_part.get(part, (part,))
    if part in ("nowait", "rows"):
        program = program.of_tasks(folder) if part == "nowait" else program.of_rows(folder)
    environment = QUEUED if part == "queued" else {}
    label = f"{'queued, ' if part == 'queued' else ''}clang {program.compiler.version}"
    ours = partial(program.on_ours, *arguments, **environment)
    if part == "queued" and not has_queues(build):
        (alone,) = in_turn(runs, ours)
        return [(f"{name} ({label})", middle(alone, name), "", "") for name in alone[0]]
    other = partial(program.on, program.compiler.path(build), *arguments, **environment)
    rows = []
    for name, pairs in paired(*in_turn(runs, ours, other)).items():
        is_better_if_large = not TIME.search(name)
        ratio = median(a / b if is_better_if_large else b / a for a, b in pairs)
        middles = [f"{median(one):.4g}" for one in zip(*pairs, strict=True)]
        rows.append((f"{name} ({label})", *middles, f"{ratio:.3f}"))
    return rows


def paired(ours: list[Figures], others: list[Figures]) -> dict[str, list[tuple[float, float]]]:
    """Return the figures of runs in turn as pairs, by name."""
    return {
        name: [(a[name], b[name]) for a, b in zip(ours, others, strict=True)] for name in ours[0]
    }


def has_queues(libraries: Path) -> bool:
    """Return whether that build's CPU device has the asynchronous functions."""
    plugin = libraries / "libomptarget.rtl.host.so"
    return b"__tgt_rtl_async_run_target_region" in plugin.read_bytes()


def growth(program: Program, few: int, many: int, runs: int) -> None:
    """Return the cost of one object among many, beside that among few."""
    small, large = in_turn(
        runs, partial(program.on_ours, "objects", few), partial(program.on_ours, "objects", many)
    )
    rows = []
    for name in small[0]:
        ratio = median(b[name] / a[name] for a, b in zip(small, large, strict=True))
        rows.append((name, middle(small, name), middle(large, name), f"{ratio:.2f}", "at most 3"))
    headers = ("phase", f"{few} objects", f"{many} objects", "times as long", "asked for")
    show("ours, nanoseconds for one object", headers, rows)


ASKED = {
    "present-ratio": "at least 0.95",
    "mapping-ratio": "at least 0.95",
    "to-ratio": "at least 0.95",
    "from-ratio": "at least 0.95",
    "register-ms": "under 2",
}


def ours_alone(programs: list[Program], part: str, runs: int) -> None:
    """Print figures that have no counterpart on LLVM's runtime."""
    for program in programs:
        (figures,) = in_turn(runs, partial(program.on_ours, part))
        rows = [(name, middle(figures, name), ASKED.get(name, "")) for name in figures[0]]
        title = f"{part}: clang {program.compiler.version}"
        show(title, ("what", "ours", "asked for"), rows)


def middle(runs: list[Figures], name: str) -> str:
    """Return the median over the runs."""
    return f"{median(run[name] for run in runs):.4g}"


if __name__ == "__main__":
    main()
