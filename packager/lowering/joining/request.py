# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The request to the child process that joins, and its answer: plain data, sent as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Part:
    """A module in a file of its own."""

    path: str  # absolute
    name: str  # in messages: "a.o", "libx.a(m.o)"
    start: str = ""  # of the names that a library defines
    is_own: bool = False  # it comes with a compiler, and is not to be verified
    release: str = ""  # of LLVM, that wrote the bitcode; "": not said


@dataclass(frozen=True)
class Device:
    """Facts of a target, separate from the modules of its family."""

    triple: str  # of the family
    llvm_triple: str  # as LLVM wants to be told it
    cpu: str
    features: str = ""  # as LLVM spells them
    is_text: bool = False  # what LLVM writes for it is PTX
    is_cpu: bool = False  # its linker may join the object with others, and finds what is missing
    vectorises: bool = True


@dataclass(frozen=True)
class JoinRequest:
    """Modules of one target, and the libraries that they may need."""

    modules: tuple[Part, ...]
    output: str
    device: Device
    level: int = 2  # of optimisation, 0 to 3
    emit: str = "image"  # as lower.request has it
    libraries: tuple[Part, ...] = ()  # linked if they define what is undefined, in this order
    kept: tuple[str, ...] = ()  # definitions for others to find, beside those that always are
    keeps_all: bool = False  # for objects of the target that are not known here

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
    notes: tuple[str, ...] = ()  # what the user should know, a line each
    libraries: tuple[str, ...] = ()  # the names of those that were linked

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> JoinAnswer:
        fields = json.loads(text)
        for name in ("exports", "notes", "libraries"):
            fields[name] = tuple(fields[name])
        fields["undefined"] = tuple(
            Undefined(one["name"], tuple(one["users"])) for one in fields["undefined"]
        )
        return JoinAnswer(**fields)
