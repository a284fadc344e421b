# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Suggest images and kernels of files if none meets the user's conditions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from packager.model import DeviceImage, FatBinary
from packager.naming.demangle import demangled
from packager.naming.kernel_names import decode
from packager.naming.region_names import short_names, spellings
from packager.questions.kernels import kernels
from packager.questions.wanted import Wanted
from packager.triples import is_meant
from packager.wording import runs

SHOWN = 8  # names in a message
COMPARED = 2000  # names, for one that is spelt alike
ALIKE = 0.6  # lowest similarity, as difflib measures it
WORD = re.compile(r"\w{3,}")
UNSAID = "-unknown-unknown"  # suffix of a triple given by its architecture only


class Offered:
    """Collects facts of images and entries in files, to suggest values for unmet conditions."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._images: dict[str, None] = {}
        self._indices: list[int] = []
        self._triples: dict[str, None] = {}
        self._archs: dict[str, None] = {}
        self._kinds: dict[str, None] = {}
        self._names: dict[str, None] = {}
        self._met: set[tuple[str, str | int]] = set()  # conditions that something meets
        self._is_chosen = False  # whether an image meets all of them at once

    @property
    def is_met(self) -> bool:
        """Return whether something meets the conditions, or nothing was there to choose from."""
        if self._is_chosen or self._wanted.is_open or not (self._images or self._names):
            return True
        return not self._images and any(map(self._wanted.names, self._names))

    def see(self, binary: FatBinary) -> None:
        """Count the images and entries of a file or a member."""
        if self._wanted.is_open:
            return
        if self._wanted.kernels:
            self._see_names([entry.name for entry in binary.entries if entry.name])
        for image in binary.images:
            self.see_image(image.index, binary, image)

    def see_image(self, index: int, binary: FatBinary, image: DeviceImage) -> None:
        """Count an image; `index` is its number where images are chosen by number."""
        wanted = self._wanted
        self._images[f"{image.target} ({image.kind})"] = None
        self._indices.append(index)
        self._triples[image.triple] = None
        self._archs[image.processor] = None
        self._kinds[image.kind] = None
        self._met |= {("index", one) for one in wanted.indices if one == index}
        self._met |= {("triple", one) for one in wanted.triples if is_meant(one, image.triple)}
        self._met |= {("arch", one) for one in wanted.archs if wanted.is_for(image, one)}
        self._met |= {("kind", one) for one in wanted.kinds if one == image.kind}
        if wanted.kernels:
            self._see_names([kernel.name for kernel in kernels(binary, image)])
        self._is_chosen = self._is_chosen or wanted(index, binary, image)

    def _see_names(self, names: Iterable[str]) -> None:
        self._names |= dict.fromkeys(names)

    def lacks(self) -> list[str]:
        """Return a sentence for each condition that nothing meets, with the known values.

        Return one sentence if each condition is met, but never all at once.
        """
        if not (self._images or self._names) or self._wanted.is_open:
            return []
        found = [*self._of_numbers(), *self._of_words(), *self._of_kernels()]
        if not found and not self.is_met:
            found = [f"no image meets all conditions; the images are {_listed(self._images)}"]
        return found

    def _of_numbers(self) -> Iterable[str]:
        for one in self._wanted.indices:
            if ("index", one) not in self._met:
                yield f"no image has the number {one}; the numbers are {runs(self._indices)}"

    def _of_words(self) -> Iterable[str]:
        wanted = self._wanted
        for what, values, known in (
            ("triple", wanted.triples, self._triples),
            ("arch", wanted.archs, self._archs),
            ("kind", wanted.kinds, self._kinds),
        ):
            there = [word for word in known if word]
            for one in values:
                if (what, one) not in self._met:
                    said = one.removesuffix(UNSAID)
                    likely = [word for word in there if _digits(word) == _digits(said)]
                    close = _close(said, likely) or _first_close(said, there)
                    rest = f"the {what}s are {_listed(there)}" if there else f"none has a {what}"
                    yield f"no image has the {what} {said}{_meant(close)}; {rest}"

    def _of_kernels(self) -> Iterable[str]:
        for pattern in self._wanted.kernels:
            if not any(map(Wanted(kernels=(pattern,)).names, self._names)):
                yield f"no kernel is called {pattern}{near(pattern, self._names)}"


def near(pattern: str, names: Iterable[str]) -> str:
    """Return the text after an unknown kernel's name: a similar name, and other names."""
    there = list(names)
    words: dict[str, None] = {}
    for name in there[:COMPARED]:
        decoded = decode(name)
        told = (*spellings(name), decoded.function if decoded else "")
        words |= {word: None for one in told for word in WORD.findall(one)}
    short = short_names(there)
    shown = (short.get(name) or demangled(name) for name in there)
    rest = f"the kernels are {_listed(shown)}" if there else "it has no kernels"
    return f"{_meant(_close(pattern, list(words)))}; {rest}"


def _close(word: str, known: Sequence[str]) -> str | None:
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, known, n=1, cutoff=ALIKE)), None)


def _first_close(triple: str, known: Sequence[str]) -> str | None:
    """Return a triple with a similar architecture."""
    by_arch = {one.partition("-")[0]: one for one in reversed(known) if "-" in one}
    close = _close(triple.partition("-")[0], list(by_arch))
    return by_arch[close] if close else None


def _digits(word: str) -> list[str]:
    """Return the digits, which must be equal in two spellings: sm_70 is no misspelt sm_71."""
    return sorted(filter(str.isdigit, word))


def _meant(close: str | None) -> str:
    return f" (did you mean {close}?)" if close else ""


def _listed(words: Iterable[str]) -> str:
    there = list(dict.fromkeys(words))
    more = f" and {len(there) - SHOWN} more" if len(there) > SHOWN else ""
    return f"{', '.join(there[:SHOWN])}{more}"
