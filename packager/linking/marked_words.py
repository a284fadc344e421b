# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Put marks in place of the words of a link that differ from the next one: objects, output."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from packager.linking.memory_files import own_files
from packager.records import NamedTuple

# Marks of a list of objects, of the output, and of the folder of intermediate files.
OBJECTS, OUTPUT, TEMPORARY = "\1objects", "\1output", "\1folder"


class Marked(NamedTuple):
    """A driver's words with marks, and the words that the marks stand for."""

    words: tuple[str, ...]
    lists: tuple[tuple[str, ...], ...]  # objects that stand side by side
    output: str


def marked_words(command: Sequence[str], folder: str) -> Marked:
    """Return a command with marks; `folder` has intermediate files."""
    words: list[str] = []
    lists: list[list[str]] = []
    output = before = ""
    of_memory = own_files()
    for word in command:
        mark = ""
        if before == "-o":
            output, mark = word, OUTPUT
        elif word.startswith(of_memory) or (word.endswith(".o") and not word.startswith("-")):
            mark = OBJECTS
            if words[-1] != OBJECTS:
                lists.append([])
            lists[-1].append(word)
        if not (mark and words[-1] == mark):
            words.append(mark or word.replace(folder, TEMPORARY))
        before = word
    return Marked(tuple(words), tuple(map(tuple, lists)), output)


def filled(line: Iterable[str], marked: Marked, folder: str) -> list[str]:
    """Return a line with a link's own words in place of the marks."""
    lists = iter(marked.lists)
    words: list[str] = []
    for word in line:
        if word == OBJECTS:
            words += next(lists)
        else:
            words.append(marked.output if word == OUTPUT else word.replace(TEMPORARY, folder))
    return words
