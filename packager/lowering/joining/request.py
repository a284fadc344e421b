"""What the child process is asked to join, and what it answers: plain data, sent as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from packager.lowering.request import Emit


@dataclass(frozen=True)
class Part:
    """A module in a file of its own."""

    path: str  # absolute
    name: str  # in messages: "a.o", "libx.a(m.o)"


@dataclass(frozen=True)
class JoinRequest:
    """Modules of one triple, and what they may need. `triple` is that of a family."""

    modules: tuple[Part, ...]
    output: str
    triple: str
    cpu: str = ""  # "": as the modules' functions have it, or the family's default
    features: str = ""  # as LLVM spells them
    level: int = 2  # of optimisation, 0 to 3
    emit: Emit = "image"
    libraries: tuple[
        Part, ...
    ] = ()  # each is linked if it defines what is undefined, in this order
    kept: tuple[str, ...] = ()  # definitions for others to find, beside those that always are
    # What is undefined and begins like the first is in a library that is not here: the second says
    # which and why.
    absent: tuple[tuple[str, str], ...] = ()

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> JoinRequest:
        fields = json.loads(text)
        for name in ("modules", "libraries"):
            fields[name] = tuple(Part(**part) for part in fields[name])
        fields["kept"] = tuple(fields["kept"])
        fields["absent"] = tuple((start, why) for start, why in fields["absent"])
        return JoinRequest(**fields)


@dataclass(frozen=True)
class JoinAnswer:
    """What became of a JoinRequest: `fault` is "" when the output was written."""

    fault: str = ""
    is_missing: bool = False  # what is at fault is this machine, which lacks something
    exports: tuple[str, ...] = ()  # symbols for others to find
    notes: tuple[str, ...] = ()  # what the user should know, a line each
    libraries: tuple[str, ...] = ()  # the names of those that were linked

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> JoinAnswer:
        fields = json.loads(text)
        for name in ("exports", "notes", "libraries"):
            fields[name] = tuple(fields[name])
        return JoinAnswer(**fields)
