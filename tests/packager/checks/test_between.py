# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks between many files: findings equal those of all pairs, in the order of files."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from packager.checks import Earlier, against
from packager.checks.structure import clashes, triples
from packager.model import Contents, Descriptor, DeviceImage, FatBinary, Finding, KernelCode

TRIPLES = ("x86_64", "nvptx64-nvidia-cuda", "amdgcn-amd-amdhsa")


def made(choice: random.Random, number: int) -> FatBinary:
    """Return a file with some kernels and targets in random order."""
    order = choice.sample(TRIPLES, choice.randrange(4))
    images = tuple(image(n, triple) for n, triple in enumerate(order))
    names = choice.sample([f"kernel_{n}" for n in range(6)], 3)
    codes = [KernelCode(0, name, choice.choice([b"a", b"b", b"c"])) for name in names]
    descriptors = (descriptor(tuple(range(len(order)))),) if choice.random() < 0.8 else ()
    path = f"file_{choice.choice([number, number // 2])}.o"  # a path may be given twice
    return FatBinary(
        path, None, None, None, images, (), descriptors, codes=tuple(codes if order else [])
    )


def image(index: int, triple: str) -> DeviceImage:
    fields: dict[str, Any] = dict.fromkeys(DeviceImage._fields)
    fields |= {"index": index, "triple": triple, "arch": "", "contents": Contents("elf")}
    return DeviceImage(**fields)


def descriptor(images: tuple[int, ...]) -> Descriptor:
    fields: dict[str, Any] = dict.fromkeys(Descriptor._fields)
    return Descriptor(**(fields | {"images": images}))


def pairwise(earlier: Sequence[FatBinary], binary: FatBinary) -> Iterator[str]:
    """Yield the findings of the rule for each pair of files."""
    own = by_target(binary)
    for other in earlier:
        for key, code in by_target(other).items() if other.path != binary.path else ():
            if code != own.get(key, code):
                yield f"{key[1]} is in {other.path}, too, and has other code for {key[0]}: "
    for other in earlier:
        first = [triples(other, d.images) for d in other.descriptors[:1]]
        second = [triples(binary, d.images) for d in binary.descriptors[:1]]
        rows = list(zip((other.path, "this file"), (*first, *second), strict=False))
        yield from (one.message for one in clashes(rows))


def by_target(binary: FatBinary) -> dict[tuple[str, str], bytes]:
    return {(binary.images[one.image].target, one.name): one.digest for one in binary.codes}


@pytest.mark.parametrize("seed", range(30))
def test_findings_are_those_of_each_pair(seed: int) -> None:
    choice = random.Random(seed)
    earlier = Earlier()
    before: list[FatBinary] = []
    for number in range(12):
        binary = made(choice, number)
        found = [one.message for one in against(earlier, binary, ["OMP108", "OMP127"])]
        wanted = list(pairwise(before, binary))
        assert len(found) == len(wanted)
        assert all(one.startswith(other) for one, other in zip(found, wanted, strict=True))
        earlier.add(binary)
        before.append(binary)


def test_time_grows_with_the_number_of_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that agree are compared as one."""
    calls: list[int] = []

    def counted(rows: Sequence[tuple[str, list[str]]]) -> Iterator[Finding]:
        calls.append(1)
        return clashes(rows)

    monkeypatch.setattr("packager.checks.between.clashes", counted)
    earlier = Earlier()
    for number in range(1000):
        images = (image(0, TRIPLES[1]),)
        code = (KernelCode(0, "template", b"same"),)
        binary = FatBinary(
            f"{number}.o", None, None, None, images, (), (descriptor((0,)),), codes=code
        )
        assert against(earlier, binary, ["OMP108", "OMP127"]) == []
        earlier.add(binary)
    assert len(calls) < 1000
