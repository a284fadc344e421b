# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Device code for a CPU: objects to the shared object that a plugin loads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from packager.errors import MissingToolError
from packager.linking.groups import Group
from packager.linking.host_command import Given, HostCommand
from packager.linking.tools import LinkError, Tools
from packager.lowering.linker import lld
from packager.records import NamedTuple
from packager.triples import code_of

# An image's references bind to its own symbols: the program may export the same names.
OPTIONS = ("-Bsymbolic", "--as-needed", "--build-id=none", "-z", "noexecstack")
GOLDS_NAME = "image"
# Drivers add these options and files to a shared object; a linker's own command lacks them.
FROM_DRIVERS = ("--eh-frame-hdr",)  # without it nothing that is thrown is caught
STARTS, ENDS = ("crti.o", "crtbeginS.o"), ("crtendS.o", "crtn.o")
# Instrumented images use the program's copy of the instrumentation's runtime: two copies would
# overwrite each other's file.
INSTRUMENTED = ("-fsanitize=", "--coverage", "-fprofile-arcs")


class Libraries(NamedTuple):
    """The libraries that images may be linked with, beside their own objects."""

    command: HostCommand
    barred: frozenset[Given]  # archives with device code
    runtime: Path | None  # libomptarget, unless the command names one
    machine: str  # machine of the host's objects
    folder: Callable[[], Path]  # folder of omptool's own libraries


def link_cpu(
    group: Group, objects: Sequence[Path], out: Path, libraries: Libraries,
    options: Sequence[str], tools: Tools,
) -> str:  # fmt: skip
    """Link `objects` to `out` by the host's linker, if it is for the group's machine, else by lld.

    Returns the linker's warnings. Raises LinkError, UsageError for undefined names,
    MissingToolError.
    """
    files = [str(path) for path in objects]
    if code_of(group.triple) != libraries.machine:
        linker = lld()
        if linker is None:
            raise MissingToolError(f"linking for {group.triple} needs ld.lld, and none is on PATH")
        command = [linker, "-shared", *OPTIONS, *FROM_DRIVERS, *files, *options, "-o", str(out)]
    else:
        command = _by_host(files, libraries, options, out)
    try:
        return tools.run(command, group.name)
    except LinkError as error:
        from packager.linking.cpu.undefined import explained

        raise explained(error, group) from error


def _by_host(
    files: Sequence[str], libraries: Libraries, options: Sequence[str], out: Path
) -> list[str]:
    host = libraries.command
    # A relocatable link has no libraries yet.
    is_open = host.is_relocatable or any(word.startswith(INSTRUMENTED) for word in host.words)
    linked = [*OPTIONS, *(() if is_open else ("-z", "defs"))]
    if any("gold" in word for word in host.shared()):  # else it writes the name of `out` instead
        linked += ("-soname", GOLDS_NAME)
    named = _libraries(libraries)
    if host.is_driver:
        passed = host.passed(*linked, *options)
        return [*host.shared(), "-shared", *passed, *files, *named, "-o", str(out)]
    around = {item.path.name: str(item.path) for item in host.inputs}
    first = [around[name] for name in STARTS if name in around]
    last = [around[name] for name in ENDS if name in around]
    middle = [*files, *options, *named]
    linked += FROM_DRIVERS
    return [*host.shared(), "-shared", *linked, *first, *middle, *last, "-o", str(out)]


def _libraries(libraries: Libraries) -> list[str]:
    """Return the command's folders and libraries, without archives of the program's objects."""
    host = libraries.command
    words = [f"-L{folder}" for folder in host.folders]
    given = [one.given for one in host.libraries]
    given += [one.given for one in host.inputs if _is_library(one.path)]
    words += [one.text for one in sorted(given, key=_word) if one not in libraries.barred]
    words += [str(libraries.runtime)] if libraries.runtime else []
    return words


def _is_library(path: Path) -> bool:
    return path.suffix == ".a" or ".so" in path.suffixes


def _word(given: Given) -> int:
    return given.word
