# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The images that a descriptor lists after an edit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from packager.editing.described import Held
from packager.editing.request import Change, Named
from packager.errors import FormatError, UsageError
from packager.files.reader import OpenFiles
from packager.records import NamedTuple
from packager.writers.requests import ImageRequest, for_openmp, own_formats
from packager.writers.wrapper import ImageInput

# Asks the plugins on this machine about images of unknown formats; returns the requests.
Judge = Callable[[Sequence[ImageRequest]], Sequence[ImageRequest]]


class Listing(NamedTuple):
    """The images of the descriptor after the edit, and the removed ones."""

    images: tuple[Held | ImageInput, ...]
    gone: tuple[Held, ...]
    own: frozenset[tuple[str, int]]  # new images that a plugin takes: triple and size


def listing(
    change: Change, held: Sequence[Held], files: OpenFiles, judged: Judge, *, force: bool
) -> Listing:
    """Return a descriptor's images after `change`. Raises UsageError if it is impossible."""
    slots: dict[int, Held | ImageInput] = {h.image.index: h for h in held}
    wanted: dict[int, ImageRequest] = {}
    gone: list[Held] = []
    for replacement in change.replaced:
        old = _taken(replacement.named, held, gone)
        wanted[old.image.index] = ImageRequest(old.triple, old.image.arch, replacement.path)
        gone.append(old)
    for named in change.removed:
        old = _taken(named, held, gone)
        del slots[old.image.index]
        gone.append(old)
    following = max([h.image.index for h in held], default=-1) + 1
    wanted |= {following + number: request for number, request in enumerate(change.added)}
    own: set[tuple[str, int]] = set()
    for number, request in zip(wanted, judged(list(wanted.values())), strict=True):
        slots[number], found = _input(request, files, force=force)
        own |= found
    _expect_targets_apart(slots.values())
    return Listing(tuple(_ordered(slots, change.order)), tuple(gone), frozenset(own))


def _taken(named: Named, held: Sequence[Held], gone: Sequence[Held]) -> Held:
    """Return the one image that `named` matches; raise UsageError if this edit changed it."""
    found = [h for h in held if named.means(h.image)]
    if not found:
        have = ", ".join(h.name for h in held) or "none"
        raise UsageError(f"its descriptor lists no image {named.text}; it lists {have}")
    if len(found) > 1:
        names = ", ".join(h.name for h in found)
        raise UsageError(f"{named.text} matches several images: {names}")
    if found[0] in gone:
        raise UsageError(f"{found[0].name} is changed twice")
    return found[0]


def _ordered(
    slots: dict[int, Held | ImageInput], order: Sequence[int] | None
) -> Iterator[Held | ImageInput]:
    if order is None:
        yield from slots.values()
        return
    if sorted(order) != sorted(slots):
        numbers = ", ".join(map(str, slots)) or "none"
        raise UsageError(f"--order must name each image once; the images are {numbers}")
    yield from (slots[number] for number in order)


def _input(
    request: ImageRequest, files: OpenFiles, *, force: bool
) -> tuple[ImageInput, frozenset[tuple[str, int]]]:
    (found,), images = for_openmp([request], files, force=force)
    if not images[0].size:
        raise FormatError(f"image {request.path}: is empty")
    return found, own_formats(images)


def _expect_targets_apart(images: Iterable[Held | ImageInput]) -> None:
    """Check that no added image repeats a target: the runtime never loads a second one."""
    seen: set[tuple[str, str]] = set()
    for image in images:
        if isinstance(image, ImageInput):
            target = (image.triple, image.arch)
        else:
            target = (image.triple, image.image.arch)
        if target in seen and isinstance(image, ImageInput):
            raise UsageError(f"two images for {':'.join(filter(None, target))}")
        seen.add(target)
