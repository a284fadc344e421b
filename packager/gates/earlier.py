# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compare a file with an earlier build of it: removed, added and changed parts.

A function's docstring is the cause and cure that `omptool verify --explain` prints.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from packager.model import Finding
from packager.naming.region_names import in_words
from packager.questions.compare import Change, Fact
from packager.wording import counted

GOES_ON = "if this is meant, take this build as OLD from now on"


def removed(changes: Sequence[Change]) -> Iterator[Finding]:
    """A kernel, a variable or an image of the earlier build is gone.

    The file of `--against` has a kernel, a device variable, or an image for a triple and
    architecture, that this file lacks. The region runs on the host from now on, or fewer GPUs run
    it, and nothing says so. A region counts as the same one where its line has moved. Often one
    object lost its offload flags, or an architecture fell out of the list.

    Cure: look at the flags of the object that the message names; if this is meant, take this build
    as OLD from now on, or leave `removed` out of `--fail-on`.
    """
    hint = "look at the offload flags of its object, or take this build as OLD from now on"
    for change in _whole(changes, "removed"):
        yield Finding("OMP141", "info", f"{_named(change)} is gone{_of_all(change)}", hint)


def added(changes: Sequence[Change]) -> Iterator[Finding]:
    """A kernel, a variable or an image is new since the earlier build.

    The file of `--against` has no kernel or device variable of this name, or no image for this
    triple and architecture. This is how programs grow. With `--fail-on added` a build fails where
    nothing should be new.

    Cure: if this is meant, take this build as OLD from now on.
    """
    for change in _whole(changes, "added"):
        yield Finding("OMP142", "info", f"{_named(change)} is new{_of_all(change)}", GOES_ON)


def changed(changes: Sequence[Change]) -> Iterator[Finding]:
    """A kernel needs other resources than in the earlier build.

    The kernel has other numbers of registers, bytes of memory, spills or bytes of code. Its source,
    the compiler or its flags may have changed. With `--fail-on changed` a build fails where no
    kernel should differ.

    Cure: if this is meant, take this build as OLD from now on.
    """
    for change in changes:
        if change.what == "kernel" and change.change == "changed":
            facts = ", ".join(map(_fact, change.facts))
            yield Finding("OMP143", "info", f"{_named(change)} has changed: {facts}", GOES_ON)


def _whole(changes: Sequence[Change], how: str) -> Iterator[Change]:
    """Yield the images and kernels, and the entries that no kernel stands for.

    An entry at another place of its table comes as a removed and an added one.
    """
    kernels = {change.name for change in changes if change.what == "kernel"}
    others = {c.name for c in changes if c.what == "entry" and c.change != how}
    for change in changes:
        if change.change != how or change.what not in ("image", "kernel", "entry"):
            continue
        name = change.name.partition(" ")[2].partition(",")[0]
        if change.what != "entry" or (change.name not in others and name not in kernels):
            yield change


def _named(change: Change) -> str:
    words = " -> ".join(in_words(name) for name in (change.was, change.name) if name)
    targets = f" ({', '.join(change.targets)})" if change.targets else ""
    kind = "" if change.what == "entry" else f"{change.what} "  # the name has it
    return f"{kind}{words}{targets}"


def _of_all(change: Change) -> str:
    """Return how many kernels an image has; "" of anything else."""
    count = next((f.old or f.new for f in change.facts if f.what == "kernels"), 0)
    return f", with {counted(count, 'kernel')}" if count else ""


def _fact(fact: Fact) -> str:
    old, new = ("none" if value is None else value for value in (fact.old, fact.new))
    return f"{fact.what} {old} -> {new}"
