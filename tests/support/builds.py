# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ways to build programs: by which clang, by which of three ways, and optimised how."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from clangs import FULL, TRIED, compiler, made, once, tool
from fixture_programs import OMPTOOL, call

from omptool.installation import libdir

# Ways to link: the clang's own linker wrapper; `clang -c` and `omptool link`; `omptool cc`.
WAYS = ("wrapper", "link", "cc")
LEVELS = ("-O1", "-O0", "-O2")
# The link also gets the options of the compilation.
QUIET = "-Wno-unused-command-line-argument"


class Build(NamedTuple):
    """One of them."""

    version: str
    way: str = "wrapper"
    level: str = "-O1"

    def __str__(self) -> str:
        return f"{self.version}-{self.way}{self.level}"


def builds_by(version: str) -> list[Build]:
    """Return the builds of each program that `make test-all` tries with a clang."""
    return [*(Build(version, way, "-O2") for way in WAYS), Build(version, "wrapper", "-O0")]


SWEEP = [build for version in TRIED for build in builds_by(version)]


def in_turn(turn: int, versions: Sequence[str] = FULL) -> list[Build]:
    """Return a build by each of these clangs; ways and levels alternate with `turn`."""
    return [
        Build(version, WAYS[(turn + at) % 3], LEVELS[(turn // 3 + at) % 3])
        for at, version in enumerate(versions)
    ]


def two_clangs(turn: int, among: Sequence[str] = FULL) -> set[str]:
    """Return two of some clangs in turn; each is returned as often as any other."""
    return {among[(2 * turn + at) % len(among)] for at in range(2)}


def by_two_clangs(programs: Sequence[Path], oldest: Mapping[str, int] | None = None) -> list[Any]:
    """Return programs with their clangs: in `make test` two in turn, in `make test-all` all.

    Some programs, by their names, have an oldest clang.
    """
    cases = []
    for turn, program in enumerate(programs):
        first = (oldest or {}).get(program.stem, 0)
        chosen = two_clangs(turn, [version for version in FULL if int(version) >= first])
        cases += [
            pytest.param(
                program,
                version,
                marks=() if version in chosen else pytest.mark.exhaustive,
                id=f"{program.stem}-{version}",
            )
            for version in TRIED
            if int(version) >= first
        ]
    return cases


def some_clangs(turn: int, every: Sequence[str] = FULL) -> list[Any]:
    """Return the clangs of a test: two of FULL in turn, and in `make test-all` all of `every`."""
    chosen = two_clangs(turn, [version for version in every if version in FULL])
    return [
        pytest.param(version, marks=() if version in chosen else pytest.mark.exhaustive)
        for version in every
    ]


def each(turn: int) -> list[Any]:
    """Return the parameters of a test's builds: `make test` takes some, `make test-all` all."""
    chosen = {(build.version, build.way) for build in in_turn(turn)}
    return [
        pytest.param(
            Build(version, way),
            marks=() if (version, way) in chosen else pytest.mark.exhaustive,
            id=f"{version}-{way}",
        )
        for version in TRIED
        for way in WAYS
    ]


def built(build: Build, out: Path, source: Path, *flags: object) -> Path:
    """Build the program of `source`, once in a run of the tests."""
    words = [*compiler(build.version, source, build.level), *map(str, flags)]
    if build.way == "wrapper":
        words += device_library(build.version)
    key = [build.way, *words, str(source)]
    return once(out, key, lambda path: _build(build, path, source, words))


def device_library(version: str) -> list[str]:
    """Return the option with which a clang's own wrapper finds omptool's device library.

    Virtual calls in device code of clang 23 and 24 need a function that LLVM's libraries lack.
    """
    return [f"-L{libdir()}"] if version in ("23", "24") else []


def _build(build: Build, out: Path, source: Path, words: list[str]) -> None:
    if build.way == "cc":
        clang = len(tool(build.version))
        command = [OMPTOOL, "cc", "--cc", shlex.join(words[:clang]), "--", *words[clang:]]
        call(*command, source, "-o", out)
        return
    # Two ways share the object, as they differ only in the link.
    one = made(out.with_name(f"{source.name}.o"), *words, QUIET, "-c", source)
    if build.way == "link":
        call(OMPTOOL, "link", "--", *words, QUIET, one, "-lomptarget", "-o", out)
    else:
        call(*words, QUIET, one, "-o", out)
