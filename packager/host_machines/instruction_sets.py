# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The instructions that code for a CPU may use, by Linux's names in /proc/cpuinfo."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from packager.host_machines import aarch64_features, x86_64_features
from packager.records import NamedTuple


class InstructionSets(NamedTuple):
    """The tables of one kind of machine."""

    # Processor to its features, by Linux's names.
    processors: Mapping[str, str]
    extensions: Mapping[str, str]  # features by the compiler's names, with Linux's names for them

    def features(self, processor: str) -> frozenset[str]:
        """Return the features that code for a processor may use; none for an unknown one.

        The processor may have extensions, as in "armv8.2-a+sve+nofp16".
        """
        name, *extensions = processor.split("+")
        return self._changed(self._of(name), extensions)

    def lacking(self, processor: str, features: str, here: frozenset[str]) -> list[str]:
        """Return the features that an image may use and a machine with `here` lacks.

        `features` are the image's own in clang's spelling: "+avx2,-fma".
        """
        words = [
            word[1:] if word.startswith("+") else f"no{word[1:]}"
            for word in features.split(",")
            if word.startswith(("+", "-"))
        ]
        return sorted(self._changed(self.features(processor), words) - here)

    def _of(self, name: str) -> frozenset[str]:
        return frozenset(self._words(name))

    def _words(self, name: str) -> Iterator[str]:
        for word in self.processors.get(name, "").split():
            if word in self.processors:
                yield from self._words(word)
            else:
                yield word

    def _changed(self, features: frozenset[str], words: list[str]) -> frozenset[str]:
        for word in words:
            is_off = word.startswith("no")
            known = self.extensions.get(word[2:] if is_off else word, "").split()
            features = features.difference(known) if is_off else features.union(known)
        return features


MACHINES = {
    "x86_64": InstructionSets(x86_64_features.PROCESSORS, x86_64_features.EXTENSIONS),
    "aarch64": InstructionSets(aarch64_features.PROCESSORS, aarch64_features.EXTENSIONS),
}
