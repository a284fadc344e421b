# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The request to the child process that joins, and its answer: plain data, sent as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Part:
    """A module in a file of its own."""

    path: str  # absolute
    name: str  # name for messages: "a.o", "libx.a(m.o)"
    start: str = ""  # prefix of the names that a library defines
    is_own: bool = False  # part of a compiler, so it is not verified
    release: str = ""  # LLVM release of the bitcode; "": unknown


@dataclass(frozen=True)
class Device:
    """Facts of a target, separate from the modules of its family."""

    triple: str  # triple of the family
    llvm_triple: str  # triple for LLVM
    cpu: str
    features: str = ""  # LLVM's spelling
    is_text: bool = False  # LLVM writes PTX
    is_cpu: bool = False  # the linker can merge objects, and resolves undefined names
    vectorises: bool = True
    is_openmp_spirv: bool = False  # clang's code, to convert before LLVM writes SPIR-V


@dataclass(frozen=True)
class JoinRequest:
    """Modules of one target, and the libraries that they may need."""

    modules: tuple[Part, ...]
    output: str
    device: Device
    level: int = 2  # optimisation level, 0 to 3
    emit: str = "image"  # as in lower.request
    libraries: tuple[Part, ...] = ()  # linked if they define what is undefined, in this order
    kept: tuple[str, ...] = ()  # definitions for others to find, beside those that always are
    keeps_all: bool = False  # keeps all definitions, because objects unknown here may use them

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> JoinRequest:
        fields = json.loads(text)
        for name in ("modules", "libraries"):
            fields[name] = tuple(Part(**part) for part in fields[name])
        fields["device"] = Device(**fields["device"])
        fields["kept"] = tuple(fields["kept"])
        return JoinRequest(**fields)


@dataclass(frozen=True)
class Undefined:
    """A name that nothing defines, and the files that use it."""

    name: str
    users: tuple[str, ...]


@dataclass(frozen=True)
class JoinAnswer:
    """The result of a JoinRequest: `fault` is "" when the output was written."""

    fault: str = ""
    exports: tuple[str, ...] = ()  # symbols for others to find
    undefined: tuple[Undefined, ...] = ()
    notes: tuple[str, ...] = ()  # notes for the user, a line each
    libraries: tuple[str, ...] = ()  # the names of those that were linked
    by_address: tuple[str, ...] = ()  # functions with calls by address, which SPIR-V lacks

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> JoinAnswer:
        fields = json.loads(text)
        for name in ("exports", "notes", "libraries", "by_address"):
            fields[name] = tuple(fields[name])
        fields["undefined"] = tuple(
            Undefined(one["name"], tuple(one["users"])) for one in fields["undefined"]
        )
        return JoinAnswer(**fields)
