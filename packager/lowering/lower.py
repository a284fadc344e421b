# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lower one module from IR to image: check the request, run the worker, and link."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from packager.errors import FormatError, UsageError
from packager.files.reader import called, open_input
from packager.files.temporary import store, temporary_folder
from packager.lowering.assembler import assemble
from packager.lowering.child import LIMITS, Limits, run_worker
from packager.lowering.libdevice import libdevice
from packager.lowering.linker import link_code_object, link_shared
from packager.lowering.request import Answer, Emit, Request
from packager.lowering.targets import Family, family_of
from packager.records import NamedTuple

_FEATURES = re.compile(r"([+-][\w.-]+)(,[+-][\w.-]+)*", re.ASCII)
MAX_SOURCE = 1 << 30  # bytes: more is not a kernel


class Target(NamedTuple):
    """The target to lower for; "" and () mean the target's default."""

    triple: str
    cpu: str = ""
    features: str = ""
    level: int = 2
    device_lib: Path | None = None  # bitcode of functions that kernels call; none: what is found
    ptxas: tuple[str, ...] = ()  # words for it, where it makes a cubin


def lower(
    source: Path,
    output: Path,
    target: Target,
    emit: Emit = "image",
    entries: tuple[str, ...] = (),
    limits: Limits = LIMITS,
) -> tuple[str, ...]:
    """Lower the IR in `source` to `output`; return notes for the user, a line each.

    Raises SourceError (its message begins with `source`) if the IR is at fault, UsageError for an
    impossible request, FormatError for a missing file, MissingToolError.
    """
    family = family_of(target.triple)
    _check(target)
    with temporary_folder() as directory:
        request = Request(
            source=str(_copied(source, directory)),
            output=str(directory / "lowered.o"),
            triple=family.triple,
            emit=emit,
            cpu=target.cpu,
            features=target.features,
            level=target.level,
            device_lib=_device_lib(target, family, directory),
            entries=entries,
        )
        answer = run_worker(request, called(source), limits)
        result = Path(request.output)
        notes = _notes(answer, family)
        made = directory / "image"
        if emit == "image" and family.linker == "shared":
            notes += link_shared(result, made, answer, family.arch)
            result = made
        elif emit == "image" and family.linker == "code object":
            link_code_object(result, made)
            result = made
        elif emit == "obj" and family.is_text:
            notes += assemble(result, made, target.cpu or family.default_cpu, target.ptxas)
            result = made
        shutil.copyfile(result, output)
        return notes


def _check(target: Target) -> None:
    if target.features and not _FEATURES.fullmatch(target.features):
        raise UsageError(f'--features {target.features!r} is not a list such as "+avx2,-fma"')
    if target.cpu and not target.cpu.isprintable():
        raise UsageError(f"{target.cpu!r} is not the name of a processor")


def _device_lib(target: Target, family: Family, directory: Path) -> str:
    if target.device_lib:
        return str(_copied(target.device_lib, directory, "device_lib"))
    found = libdevice() if family.uses_libdevice else None
    return str(found) if found else ""


def _copied(source: Path, directory: Path, name: str = "source") -> Path:
    """Copy `source` into `directory`, so that no other process changes it during the work."""
    with open_input(source) as data:
        if not len(data):
            raise FormatError("is empty")
        if len(data) > MAX_SOURCE:
            raise FormatError(f"has {len(data)} bytes; a module has at most {MAX_SOURCE}")
        copy = directory / name
        store(copy, data.pieces())
        return copy


def _notes(answer: Answer, family: Family) -> tuple[str, ...]:
    if not answer.source_triple or family.is_of(answer.source_triple):
        return ()
    return (f"is IR for {answer.source_triple}; it was lowered for {family.triple}",)
