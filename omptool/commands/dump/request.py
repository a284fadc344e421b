# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parse the options of `omptool dump`, and check their combination."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from omptool.errors import reported
from packager.look import Look
from packager.model import DeviceImage, FatBinary
from packager.patterns import pattern
from packager.questions.wanted import Wanted
from packager.records import NamedTuple
from packager.triples import normalise

if TYPE_CHECKING:
    from packager.dwarf.sources import Asked


_ADDRESS = pattern(r"0[xX][0-9a-fA-F]{1,16}|0|[1-9][0-9]{0,19}")


def numbers(
    _ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]
) -> tuple[int, ...]:
    """Read addresses as debuggers print them: hexadecimal with 0x, or decimal."""
    for value in values:
        if not _ADDRESS.fullmatch(value) or int(value, 0) >> 64:
            raise click.BadParameter(f"{value!r} is not an address; write it as 0x… or in decimal")
    return tuple(dict.fromkeys(int(value, 0) for value in values))


class Request(NamedTuple):
    """The options, each under the name of its parameter."""

    images: bool
    entries: bool
    descriptors: bool
    kernels: bool
    summary: bool
    triples: tuple[str, ...]
    archs: tuple[str, ...]
    kinds: tuple[str, ...]
    patterns: tuple[str, ...]
    sort: str | None
    no_demangle: bool
    wide: bool
    no_source: bool
    hashed: bool
    addresses: tuple[int, ...]
    against: Path | None
    exit_code: bool
    disassemble: str | None
    as_json: bool

    @property
    def names_parts(self) -> bool:
        """Return whether the tables are named that are to be shown."""
        return self.images or self.entries or self.descriptors or self.kernels

    @property
    def parts(self) -> tuple[bool, bool, bool, bool]:
        """Return which tables are shown: images, entries, descriptors, kernels."""
        if not self.names_parts:
            return (True, True, True, False)
        return (self.images, self.entries, self.descriptors, self.kernels)

    @property
    def shapes_tables(self) -> bool:
        """Return whether an option is about tables."""
        return bool(self.names_parts or self.wide or self.summary or self.sort)

    def expect_one_question(self, files: tuple[Path, ...]) -> None:
        """Raise UsageError for options that contradict each other."""
        chooses = self.triples or self.archs or self.kinds or self.patterns
        if self.addresses and self.against:
            raise click.UsageError("--address and --against exclude each other.")
        if self.as_json and self.addresses:
            raise click.UsageError("--json and --address exclude each other.")
        if (self.addresses and (self.shapes_tables or chooses)) or (
            self.against and self.shapes_tables
        ):
            what = "--address and --against make no tables"
            raise click.UsageError(f"{what}: leave out the options that shape tables.")
        if self.against and len(files) != 1:
            raise click.UsageError("--against takes exactly one FILE.")
        if self.exit_code and not self.against:
            raise click.UsageError("--exit-code needs --against.")
        if (self.summary and (self.names_parts or self.wide or self.sort)) or (
            self.as_json and self.sort
        ):
            what = "--summary and --json have no tables"
            raise click.UsageError(f"{what}: leave out the options that shape tables.")
        others = self.as_json or self.hashed or self.addresses or self.against
        if self.disassemble is not None and (others or self.shapes_tables):
            what = "--disassemble shows code alone"
            raise click.UsageError(f"{what}: give it only options that choose images.")

    def wanted(self) -> Wanted:
        """Return the conditions on images and kernels."""
        with reported("--triple"):
            named = tuple(normalise(triple) for triple in self.triples)
        return Wanted((), named, self.archs, self.kinds, self.patterns)

    def look(self) -> Look:
        """Return the depth to which images are read."""
        is_whole = self.as_json or self.against is not None
        by_name = self.entries or self.kernels or not self.names_parts or bool(self.patterns)
        all_symbols = is_whole or self.summary or bool(self.addresses)
        return Look(
            symbols=all_symbols or by_name,
            for_entries=not (all_symbols or self.kernels or self.patterns),
            resources=is_whole or self.kernels,
            hashed=self.hashed or self.against is not None,
        )

    def sourced(self, wanted: Wanted) -> Asked | None:
        """Return the selection of sources to show; None to skip debug information."""
        of_kernels = self.kernels or self.as_json or bool(self.addresses)
        is_sourced = of_kernels or self.entries or (self.wide and not self.names_parts)
        if self.no_source or self.summary or self.against or not is_sourced:
            return None
        from packager.dwarf.sources import Asked

        def is_shown(binary: FatBinary, image: DeviceImage) -> bool:
            return wanted(image.index, binary, image)

        return Asked(is_shown, wanted.names, of_kernels)
