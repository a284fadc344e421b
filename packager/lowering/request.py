# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The request of `lower` to the child process, and its answer: plain data, sent as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Literal, get_args

from packager.errors import PackagerError

Emit = Literal["image", "asm", "obj", "bc"]
# Prefix of the lines in which a worker announces its next step on stderr.
READING = "omptool: "
EMITS: tuple[Emit, ...] = get_args(Emit)


class SourceError(PackagerError):
    """The IR is at fault: the message begins with the file and, where known, line and column."""


@dataclass(frozen=True)
class Request:
    """One module to lower. Paths are absolute; `triple` is that of a family."""

    source: str
    output: str
    triple: str
    emit: Emit = "image"
    cpu: str = ""  # "": the family's default
    features: str = ""  # LLVM's spelling: "+avx2,-fma"
    level: int = 2  # optimisation level, 0 to 3
    device_lib: str = ""  # bitcode of further functions
    entries: tuple[str, ...] = ()  # empty: every externally visible definition

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> Request:
        fields = json.loads(text)
        return Request(**{**fields, "entries": tuple(fields["entries"])})


@dataclass(frozen=True)
class Answer:
    """The result of a Request: `fault` is "" when `output` was written."""

    fault: str = ""
    line: int = 0  # line of the source text; 0: unknown
    column: int = 0
    exports: tuple[str, ...] = ()  # symbols that a linked image must export
    source_triple: str = ""  # the input's triple
    calls_process: bool = False  # calls functions of the process that loads it, such as libomp's

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> Answer:
        fields = json.loads(text)
        return Answer(**{**fields, "exports": tuple(fields["exports"])})
