"""What the descriptor will list after an edit: data alone, decided before anything is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from packager.editing.described import Held
from packager.editing.request import Change, Named
from packager.errors import FormatError, UsageError
from packager.triples import is_meant
from packager.writers.requests import ImageRequest, for_openmp
from packager.writers.wrapper import ImageInput


class Plan(NamedTuple):
    """The images of the descriptor after the edit, and those that go."""

    images: tuple[Held | ImageInput, ...]
    gone: tuple[Held, ...]


def plan(change: Change, held: Sequence[Held], *, force: bool) -> Plan:
    """What `change` makes of the images of a descriptor. Raises UsageError where it cannot."""
    slots: dict[int, Held | ImageInput] = {h.image.index: h for h in held}
    gone: list[Held] = []
    for replacement in change.replaced:
        old = _taken(replacement.named, held, gone)
        request = ImageRequest(old.triple, old.image.arch, replacement.path)
        slots[old.image.index] = _input(request, force=force)
        gone.append(old)
    for named in change.removed:
        old = _taken(named, held, gone)
        del slots[old.image.index]
        gone.append(old)
    following = max([h.image.index for h in held], default=-1) + 1
    for number, request in enumerate(change.added):
        slots[following + number] = _input(request, force=force)
    _expect_targets_apart(slots.values())
    return Plan(tuple(_ordered(slots, change.order)), tuple(gone))


def _taken(named: Named, held: Sequence[Held], gone: Sequence[Held]) -> Held:
    """The one image that is meant, which nothing else in this edit has taken."""
    found = [h for h in held if _is_named(named, h)]
    if not found:
        have = ", ".join(h.name for h in held) or "none"
        raise UsageError(f"its descriptor lists no image {named.text}, but {have}")
    if len(found) > 1:
        names = ", ".join(h.name for h in found)
        raise UsageError(f"{named.text} means several images: {names}")
    if found[0] in gone:
        raise UsageError(f"{found[0].name} is changed twice")
    return found[0]


def _is_named(named: Named, held: Held) -> bool:
    image = held.image
    if named.number is not None:
        return image.index == named.number
    return is_meant(named.triple, held.triple) and named.arch in ("", image.arch, image.processor)


def _ordered(
    slots: dict[int, Held | ImageInput], order: Sequence[int] | None
) -> Iterator[Held | ImageInput]:
    if order is None:
        yield from slots.values()
        return
    if sorted(order) != sorted(slots):
        numbers = ", ".join(map(str, slots)) or "none"
        raise UsageError(f"an order names each image once; here they are {numbers}")
    yield from (slots[number] for number in order)


def _input(request: ImageRequest, *, force: bool) -> ImageInput:
    (found,), (image,) = for_openmp([request], force=force)
    if not image.size:
        raise FormatError(f"image {request.path}: is empty")
    return found


def _expect_targets_apart(images: Iterable[Held | ImageInput]) -> None:
    """A second image for a target that is added would never be asked for."""
    seen: set[tuple[str, str]] = set()
    for image in images:
        if isinstance(image, ImageInput):
            target = (image.triple, image.arch)
        else:
            target = (image.triple, image.image.arch)
        if target in seen and isinstance(image, ImageInput):
            raise UsageError(f"two images for {':'.join(filter(None, target))}")
        seen.add(target)
