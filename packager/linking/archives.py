# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Choose the members of archives whose device code is linked.

These are the members that the host's linker takes, and those that other device code needs. Each
linker searches archives in an order of its own, so a trial link without images asks the host's
linker: its map names the members.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence

from packager.errors import UsageError
from packager.linking.deferred import DeferredPart
from packager.linking.host_command import HostCommand
from packager.linking.inputs import HostPart, device_symbols
from packager.linking.tools import Tools

_SECTION = ":("  # lld and mold have "libk.a(k.o):(.text)"


def taken(
    found: Sequence[HostPart | DeferredPart],
    command: HostCommand,
    added: Sequence[str],
    tools: Tools,
) -> list[HostPart]:
    """Return the parts without archive members that neither the host nor a device needs.

    `added` are words that the link without images needs. A dry run takes all members that it could
    need. Raises LinkError if the trial link fails. Images of chosen members are stored in their
    files.
    """
    optional = [part for part in found if part.archive is not None and not part.is_whole]
    if not optional:
        return parsed_parts(found)
    fixed = [part for part in found if part.archive is None or part.is_whole]
    linkable = list(_linkable(optional, is_dry=tools.is_dry))
    chosen = {id(part) for part in fixed}
    chosen |= {id(part) for part in linkable and _by_host(linkable, command, added, tools)}
    kept = parsed_parts([part for part in found if id(part) in chosen])
    rest = [part for part in optional if id(part) not in chosen]
    chosen |= {id(part) for part in _by_devices(kept, rest)}
    for part in found:
        if id(part) not in chosen and (not isinstance(part, DeferredPart) or part.is_parsed):
            for one in part.parts:
                one.file.unlink()
    return [_stored(part) for part in parsed_parts([part for part in found if id(part) in chosen])]


def _linkable(
    optional: Sequence[HostPart | DeferredPart], *, is_dry: bool
) -> Iterable[HostPart | DeferredPart]:
    """Return the parts that a host's link may take.

    A trial link takes no others, so it needs not to be known of each whether it is among them.
    """
    likely = [part for part in optional if isinstance(part, DeferredPart) or part.is_linkable]
    if not is_dry and any(part.is_linkable for part in likely):
        return likely
    return [part for part in likely if part.is_linkable]


def parsed_parts(parts: Iterable[HostPart | DeferredPart]) -> list[HostPart]:
    """Return the parts that have code for devices, all of them parsed."""
    parsed = (part.parsed() if isinstance(part, DeferredPart) else part for part in parts)
    return [part for part in parsed if part is not None]


def _stored(part: HostPart) -> HostPart:
    return part._replace(parts=tuple(one.stored() for one in part.parts))


def _by_host(
    optional: Sequence[HostPart | DeferredPart],
    command: HostCommand,
    added: Sequence[str],
    tools: Tools,
) -> Iterable[HostPart | DeferredPart]:
    """Return the members in the map of a trial link.

    The link runs with --no-gc-sections, because maps omit collected sections. Bitcode members are
    compiled together before there is a map: lld names them by `--trace`, and mold all that it may
    take.
    """
    map_file, output = tools.folder / "host.map", tools.folder / "host.out"
    printed = tools.folder / "host.stdout"
    in_bitcode = (p for p in optional if not isinstance(p, DeferredPart) and p.binary.is_bitcode)
    traced = ["--trace"] if any(in_bitcode) else []
    options = command.passed("--no-gc-sections", f"-Map={map_file}", *traced)
    if not tools.is_dry:
        map_file.unlink(missing_ok=True)
    tools.run([*command.with_words((), added), *options, "-o", str(output)], "the host", printed)
    if tools.is_dry:
        yield from optional
        return
    output.unlink(missing_ok=True)
    # lld with -M prints the map although -Map names a file.
    written = [path for path in (map_file, printed) if path.is_file()]
    read = written if traced else written[:1]
    text = "".join(path.read_text(errors="surrogateescape") for path in read)
    if not text.strip():
        program = command.words[command.options_at - 1]
        raise UsageError(f"{program} wrote no link map, which archives need")
    words = set(text.split())
    listed = {_last_word(word.rpartition(_SECTION)[0] or word) for word in words}
    alike = Counter((part.archive, part.member) for part in optional)
    for part in optional:
        # Maps distinguish members with one name by the symbols of their entries.
        is_one_of_several = alike[part.archive, part.member] > 1 and part.entry_symbols
        if is_one_of_several and words.isdisjoint(part.entry_symbols):
            continue
        archive = str(part.archive)
        file = archive if isinstance(part, DeferredPart) else part.binary.file or ""
        # For thin archives binutils print the member's file.
        is_file = file != archive and _last_word(file) in listed
        is_named = is_file or _last_word(f"{archive}({part.member})") in listed
        is_why = _last_word(archive) in listed and not words.isdisjoint(part.host_symbols)
        if is_named or is_why:
            yield part


def _last_word(path: str) -> str:
    """Return the text after a path's last blank, because maps do not quote paths."""
    word = (path.split() or [""])[-1]
    return os.path.normpath(word) if "/" in word else word


def _by_devices(
    kept: Sequence[HostPart], rest: list[HostPart | DeferredPart]
) -> Iterable[HostPart | DeferredPart]:
    """Yield members whose symbols linked device code needs, and those that these need."""
    wanted: dict[str, set[str]] = {}  # undefined names of each target
    there: dict[str, set[str]] = {}
    for part in kept:
        _add(part, wanted, there)
    defined: dict[int, dict[str, set[str]]] = {}
    while any(wanted.values()):
        # One member at a time, because its definitions make others unnecessary.
        needed = next((part for part in rest if _is_needed(part, wanted, defined)), None)
        if needed is None:
            return
        rest.remove(needed)
        _add(needed, wanted, there)
        yield needed


def _add(
    part: HostPart | DeferredPart, wanted: dict[str, set[str]], there: dict[str, set[str]]
) -> None:
    """Add the part's device symbols to `there`, and its undefined ones to `wanted`."""
    for one in part.parts:
        missing, found = device_symbols(one)
        known = there.setdefault(one.image.target, set())
        known |= found
        of_target = wanted.setdefault(one.image.target, set())
        of_target |= missing
        of_target -= known


def _is_needed(
    part: HostPart | DeferredPart,
    wanted: dict[str, set[str]],
    defined: dict[int, dict[str, set[str]]],
) -> bool:
    """Return whether a part defines a wanted name; `defined` has the names of parts seen before."""
    if id(part) not in defined:
        if isinstance(part, DeferredPart) and not part.may_define(set().union(*wanted.values())):
            return False
        defined[id(part)] = {one.image.target: device_symbols(one)[1] for one in part.parts}
    return any(wanted.get(target, set()) & names for target, names in defined[id(part)].items())
