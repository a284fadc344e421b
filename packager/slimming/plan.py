# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plan `slim` for one file: the new bytes of its containers, and the parts left alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from packager.elf import headers
from packager.elf.address_space import Space
from packager.errors import LimitError, PackagerError
from packager.files.reader import Reader, open_reader
from packager.formats.containers import opencl_elf
from packager.hosts.windows import coff_headers
from packager.look import Look
from packager.questions.sorting import natural
from packager.records import NamedTuple
from packager.slimming import linked, windows
from packager.slimming.containers import found
from packager.slimming.containers.found import Found, Left
from packager.slimming.containers.outcome import Outcome
from packager.slimming.keeps import Kept
from packager.slimming.pieces import Rewritten
from packager.slimming.request import Request
from packager.slimming.selection import is_of_kind
from packager.slimming.tables.found import Table, tables
from packager.slimming.tables.registered import OpenMP
from packager.slimming.tables.rewriting import rewrite
from packager.wording import counted

# An image's bytes are read only if a choice depends on them.
HEADERS = Look(symbols=False, resources=False)
MOST_IMAGES = 1 << 17  # most images of a file; the largest libraries have some ten thousand


class Share(NamedTuple):
    """The images for one target together."""

    target: str  # "sm_90", "ptx sm_90", "gfx90a:xnack-"
    images: int
    size: int  # bytes in the file; bytes in the result for kept images
    before: int = 0  # bytes in the file of kept images


class FilePlan(NamedTuple):
    """The plan for one file. Nothing is written where `lacking` has a message."""

    rewrites: tuple[Rewritten, ...]  # each container in file order, including unchanged ones
    kept: tuple[Share, ...]  # sizes are those in the result
    removed: tuple[Share, ...]
    left_alone: tuple[Left, ...]
    lacking: tuple[str, ...]  # kept devices for which no container of their kind has code
    partly: tuple[str, ...]  # kept devices for which some containers of their kind have no code

    @property
    def changes(self) -> bool:
        """Return whether anything is removed."""
        return bool(self.removed)


def with_openmp(planned: FilePlan, found: OpenMP) -> FilePlan:
    """Return a plan with the images of OpenMP's descriptors that an edit has removed."""
    outcome = Outcome(found.free, found.images, found.choice)
    mine = _summed([outcome], found.left) if found.images else None
    if mine is None:
        return planned._replace(left_alone=(*planned.left_alone, *found.left))
    return FilePlan(
        tuple(sorted((*planned.rewrites, *found.free))),
        (*planned.kept, *mine.kept),
        (*planned.removed, *mine.removed),
        (*planned.left_alone, *mine.left_alone),
        (*planned.lacking, *mine.lacking),
        (*planned.partly, *mine.partly),
    )


def plan(path: Path, keeps: Sequence[Kept], *, keep_ptx: bool = False) -> FilePlan:
    """Return the plan for the file at `path`. Raises FormatError when it cannot be read."""
    with open_reader(path, HEADERS) as data:
        return plan_open(data, keeps, keep_ptx=keep_ptx)


def plan_open(data: Reader, keeps: Sequence[Kept], *, keep_ptx: bool = False) -> FilePlan:
    """Return the plan for an open file or a member of an archive. Offsets are the file's.

    The caller opens it with `HEADERS`; else images are read further than needed.
    """
    left: list[Left] = []
    return _summed(_each(data, Request(tuple(keeps), keep_ptx), left), left)


def outcomes(data: Reader, request: Request) -> tuple[list[Outcome], list[Left]]:
    """Return the outcome of each container and table of an open file, and the parts left alone."""
    left: list[Left] = []
    return list(_each(data, request, left)), left


def _each(data: Reader, request: Request, left: list[Left]) -> Iterator[Outcome]:
    """Yield the outcome of each container and table; parts left alone are added to `left`.

    Files have up to 131,072 containers, so each one is dropped behind its outcome.
    """
    found_containers, alone = containers(data)
    left += alone
    count = 0
    found_containers.reverse()
    while found_containers:
        container = found_containers.pop()
        if count > MOST_IMAGES:
            raise LimitError(f"it has more than {MOST_IMAGES} device images, which is the limit")
        if request.keeps_whole(container.data.at):
            yield _whole(container)
            continue
        try:
            outcome = container.kind.rewrite(container.data, container.padded, request)
        except PackagerError as error:
            left.append(Left(f"container at {container.data.at:#x}", str(error)))
            outcome = _whole(container)
        count += len(outcome.images)
        yield outcome
    memory = _linked(data)
    if memory:
        listed = rewrite(memory, tables(memory), request)
        left += listed.left
        yield from listed.outcomes


def found_tables(data: Reader) -> list[Table]:
    """Return the tables of images of an open file, which only linked ELF files have."""
    memory = _linked(data)
    return tables(memory) if memory else []


def _linked(data: Reader) -> Space | None:
    return linked.memory(data) if _is_elf(data) else None


def _is_elf(data: Reader) -> bool:
    return headers.probe(data) and not opencl_elf.probe(data)


def containers(data: Reader) -> tuple[list[Found], list[Left]]:
    """Return the containers of a file in file order, and unregistered device code."""
    if coff_headers.probe(data):
        return windows.containers(data)
    if not _is_elf(data):
        return found.in_file(data)
    memory = linked.memory(data)
    return linked.containers(memory) if memory else ([], [])


def _whole(container: Found) -> Outcome:
    """Return the outcome of an unchanged container."""
    return found.whole(container.data.at, container.padded, container.kind.alignment)


def _summed(outcomes: Iterable[Outcome], left: Sequence[Left]) -> FilePlan:
    """Return the plan of these outcomes; `left` is complete when all have been seen."""
    kept: dict[str, Share] = {}
    removed: dict[str, Share] = {}
    rewrites: list[Rewritten] = []
    named: list[Left] = []
    lacks = _Lacks()
    for outcome in outcomes:
        rewrites += outcome.rewrites
        lacks.see(outcome)
        where = f"container at {outcome.offset:#x}"
        if outcome.why_whole:
            named.append(Left(where, outcome.why_whole))
        for n, image in enumerate(outcome.images):
            if image.code == found.HOST:
                continue
            stays = n in outcome.choice.stay
            after = outcome.after or {}
            size = after.get(n, image.stored)
            _add(kept if stays else removed, image.target, size, image.stored)
            if stays and image.why_kept:
                named.append(Left(f"image for {image.target} in the {where}", image.why_kept))
    return FilePlan(
        tuple(sorted(rewrites)),
        _shares(kept),
        _shares(removed),
        tuple(dict.fromkeys((*left, *named))),
        tuple(lacks.messages(is_whole=True)),
        tuple(lacks.messages(is_whole=False)),
    )


def _add(sums: dict[str, Share], target: str, size: int, before: int) -> None:
    one = sums.get(target, Share(target, 0, 0))
    sums[target] = Share(target, one.images + 1, one.size + size, one.before + before)


def _shares(sums: dict[str, Share]) -> tuple[Share, ...]:
    return tuple(sums[target] for target in sorted(sums, key=natural))


class _Lack(NamedTuple):
    """The containers that have no code for a kept device, but for others of its kind."""

    first: int  # offset of the first one
    number: int
    targets: frozenset[str]  # those of the others


class _Lacks:
    """Sums up kept devices that all containers, or some, have no code for.

    Only containers with code for other devices of the same kind count. A single container is no
    evidence, because libraries have kernels for one architecture alone.
    """

    def __init__(self) -> None:
        self._found: dict[Kept, _Lack] = {}
        self._containers: Counter[frozenset[str]] = Counter()  # by the codes of their images

    def see(self, outcome: Outcome) -> None:
        """Add a container."""
        self._containers[frozenset(image.code for image in outcome.images)] += 1
        for kept in outcome.choice.lacking:
            last = self._found.get(kept, _Lack(outcome.offset, 0, frozenset()))
            targets = (image.target for image in outcome.images if is_of_kind(image.code, kept))
            self._found[kept] = _Lack(last.first, last.number + 1, last.targets.union(targets))

    def messages(self, *, is_whole: bool) -> Iterator[str]:
        """Yield a message for each kept device that all containers lack, or only some."""
        for kept, lack in self._found.items():
            of_kind = sum(
                count
                for codes, count in self._containers.items()
                if any(is_of_kind(code, kept) for code in codes)
            )
            if (lack.number == of_kind) != is_whole:
                continue
            others = ", ".join(sorted(lack.targets, key=natural))
            where = f"{lack.number} of {counted(of_kind, 'container')}"
            yield (
                f"there is no code for {kept.name}, but for {others}"
                if is_whole
                else f"{kept.name} has no code in {where}, the first at {lack.first:#x}, which "
                f"have code for {others}"
            )
