# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A hash of all that the join of modules depends on: contents, options and tools."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path

from packager import lowering
from packager.files.cache import program_identity, state
from packager.linking.device_runtime import OwnLibraries
from packager.lowering.joining.request import JoinRequest, Part
from packager.lowering.linker import lld
from packager.lowering.lower import Target
from packager.lowering.targets import Family
from packager.processes.programs import tool_environment, which

SIZE = 32
LLVM = "llvmlite"


def join_key(request: JoinRequest, own: OwnLibraries, target: Target, family: Family) -> str:
    """Return the key of a join's image."""
    plain = replace(request, output="", modules=(), libraries=(), kept=())
    facts: list[object] = [asdict(plain), sorted(request.kept), target.ptxas, target.features]
    if request.emit == "obj" and family.is_text:
        facts.append(_tool(which("ptxas")))
    if family.linker == "code object":
        facts.append(_tool(lld()))
    facts += [own.absent, own.notes, *_parts(request.modules), *_parts(request.libraries)]
    facts += [state(path) for path in _code()]
    found = blake2b(digest_size=SIZE)
    found.update("\n".join(map(repr, facts)).encode(errors="surrogateescape"))
    return found.hexdigest()


def _tool(path: str | None) -> object:
    """Return what identifies a tool: of a script also the release of the program that it starts."""
    if path is None:
        return None
    identity = program_identity(path)
    if identity is not None:
        return identity[0]
    command = [path, "--version"]
    done = subprocess.run(command, env=tool_environment(), capture_output=True, check=False)
    return path, state(os.path.realpath(path)), done.stdout


def _parts(parts: Iterable[Part]) -> Iterator[object]:
    """Yield what a join depends on of modules: their bytes, and their names in messages."""
    for part in parts:
        yield part.name, part.start, part.is_own, part.release, _digest(Path(part.path))


def _digest(path: Path) -> str:
    digest = blake2b(digest_size=SIZE)
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def _code() -> Iterator[str]:
    """Yield the files of this package and of LLVM that make the image."""
    for folder in lowering.__path__:
        yield from sorted(str(path) for path in Path(folder).rglob("*") if path.suffix != ".pyc")
    found = find_spec(LLVM)
    for folder in (found.submodule_search_locations or ()) if found else ():
        yield from sorted(str(path) for path in Path(folder, "binding").glob("*.so"))
        yield os.path.join(folder, "_version.py")  # noqa: PTH118
