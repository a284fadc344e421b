# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums of traces compared: which constructs are the same, and what grew."""

from __future__ import annotations

from packager.gates import grown
from packager.gates.grown import Difference, Fact
from packager.questions.statistics import Called, Construct, Statistics
from packager.traces.model import BETWEEN, TO_DEVICE, TO_HOST


def entry(function: str, line: int, inode: str = "1f") -> str:
    return f"__omp_offloading_fe00_{inode}_{function}_l{line}"


def construct(times: int, copies: int = 0, fallbacks: int = 0) -> Construct:
    one = Construct()
    for _ in range(times):
        one.times.add(10)
    for _ in range(copies):
        one.add_copy(TO_DEVICE, 8)
    if fallbacks:
        one.reasons["no device"] = fallbacks
    return one


def run(constructs: dict[Called, Construct]) -> Statistics:
    found = Statistics()
    found.constructs.update(constructs)
    return found


def region(function: str, line: int, inode: str = "1f") -> Called:
    return Called("target", entry(function, line, inode), f"a.c:{line}:1")


def update(line: int) -> Called:
    return Called("target update", "", f"a.c:{line}:1")


def test_equal_runs_of_two_builds_do_not_differ() -> None:
    old = run({region("work", 5): construct(3, 2), update(9): construct(1, 1)})
    new = run({region("work", 5, "2a"): construct(3, 2), update(9): construct(1, 1)})
    assert grown.differences(old, new) == []
    assert grown.totals(old, new)[:3] == (
        Fact("launches", 3, 3),
        Fact("copies", 3, 3),
        Fact("bytes", 24, 24),
    )


def test_lines_that_moved_make_no_difference() -> None:
    old = run({region("work", 5): construct(3), update(9): construct(1), update(12): construct(2)})
    new = run(
        {region("work", 7, "2a"): construct(3), update(11): construct(1), update(14): construct(2)}
    )
    assert grown.differences(old, new) == []


def test_a_moved_construct_that_grew_has_both_names() -> None:
    old = run({region("work", 5): construct(3), update(9): construct(1)})
    new = run({region("work", 7): construct(4), update(11): construct(1, 1)})
    assert grown.differences(old, new) == [
        Difference("changed", "target", "work:7", "work:5", (Fact("launches", 3, 4),)),
        Difference(
            "changed",
            "target update",
            "a.c:11",
            "a.c:9",
            (Fact("copies", 0, 1), Fact("bytes", 0, 8)),
        ),
    ]


def test_an_added_update_is_told_from_those_that_moved() -> None:
    old = run({update(9): construct(1), update(20): construct(2)})
    new = run({update(10): construct(1), update(15): construct(5), update(21): construct(2)})
    (found,) = grown.differences(old, new)
    assert (found.change, found.name, found.facts) == ("added", "a.c:15", (Fact("times", 0, 5),))


def test_a_region_is_not_paired_with_one_that_has_moved_to_its_line() -> None:
    old = run({region("work", line): construct(times) for line, times in ((5, 1), (7, 2), (9, 3))})
    new = run({region("work", line): construct(times) for line, times in ((7, 1), (11, 3))})
    (found,) = grown.differences(old, new)
    assert (found.change, found.name) == ("removed", "work:7")


def test_a_region_that_is_gone_does_not_count_as_growth() -> None:
    (found,) = grown.differences(run({region("work", 5): construct(3)}), run({}))
    assert (found.change, found.name) == ("removed", "work:5")
    assert not found.grew(0)


def test_a_fallback_is_growth_and_tolerance_is_in_percent() -> None:
    old = run({region("work", 5): construct(10, 10)})
    new = run({region("work", 5): construct(10, 11, 1)})
    (found,) = grown.differences(old, new)
    copies, size, fallbacks = found.facts
    assert copies.grew(9.9)
    assert not copies.grew(10)
    assert not size.grew(10)
    assert fallbacks.grew(1e6)  # from none


def test_entries_of_other_names_and_places_without_lines_are_compared_by_name() -> None:
    of_swift = Called("target", "scale")
    routine = Called("omp_target_memcpy")
    old = run({of_swift: construct(1), routine: construct(1)})
    new = run({of_swift: construct(2), routine: construct(1)})
    (found,) = grown.differences(old, new)
    assert (found.name, found.facts) == ("scale", (Fact("launches", 1, 2),))


def test_two_regions_of_one_line_in_two_files_are_summed() -> None:
    static = {region("work", 5): construct(1), region("work", 5, "2a"): construct(2)}
    assert grown.differences(run(static), run({region("work", 5, "3b"): construct(3)})) == []


def test_copies_of_each_direction_count() -> None:
    one = construct(1)
    for kind in (TO_DEVICE, TO_HOST, BETWEEN):
        one.add_copy(kind, 8)
    assert (one.copies, one.to_device, one.to_host, one.between, one.bytes) == (3, 8, 8, 8, 24)
