# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records of a program that ran under the runtime's checker. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from packager.machine.run_check.check_codes import CODES, OF_HOST, OF_LOOPS, Severity
from packager.records import NamedTuple


class SourceLine(NamedTuple):
    """A place in a source file."""

    file: str
    line: int | None
    column: int | None = None

    def __str__(self) -> str:
        return ":".join(str(part) for part in self if part is not None)


class FilePlace(NamedTuple):
    """A place in a loaded file: bytes from the first one that is loaded."""

    file: bytes  # name known to the loader
    offset: int


class CheckFinding(NamedTuple):
    """A finding of the checker. Absent fields are "", 0 or None."""

    code: str
    message: str
    variable: str
    entry: str  # the region
    source: SourceLine | None  # source of the construct
    call: FilePlace | None  # behind the program's call of the construct, or the host's instruction
    kernel: int  # the instruction, from the first byte of the kernel's image
    device: int | None
    process: int
    address: int  # address of the object on the host
    size: int
    times: int  # how often it was found
    total: int  # bytes, of all times
    device_title: str = ""  # title of a device of another MPI rank
    call_line: SourceLine | None = None  # from debug information, as kernel_line
    kernel_line: SourceLine | None = None
    call_function: str = ""  # demangled, from the symbol table; used without a line

    @property
    def severity(self) -> Severity:
        """Return "error" for a violation of OpenMP, "hint" for a frequent mistake."""
        return CODES[self.code].severity

    @property
    def construct(self) -> SourceLine | None:
        """Return the place of the construct."""
        return self.source or (None if self.code in OF_HOST else self.call_line)

    @property
    def place(self) -> SourceLine | None:
        """Return the place in the source that the finding is about."""
        host = self.call_line if self.code in OF_HOST else None
        return host or self.kernel_line or self.construct

    def file_of(self, program: str) -> str:
        """Return the source file that the finding is about, else the program."""
        return self.place.file if self.place else program


def merged(findings: Iterable[CheckFinding]) -> tuple[CheckFinding, ...]:
    """Return the findings with one for all accesses of a line beyond an object.

    A loop that has been unrolled has several instructions for one access of its source.
    """
    found: dict[object, CheckFinding] = {}
    for one in findings:
        is_joint = one.code in OF_LOOPS and one.kernel_line
        place = one.kernel_line if is_joint else len(found)
        key = (one.code, one.entry, place, one.variable, one.address, one.process, one.device)
        before = found.get(key)
        found[key] = (
            before._replace(times=before.times + one.times, total=before.total + one.total)
            if before
            else one
        )
    return tuple(found.values())


class Recorded(NamedTuple):
    """The table of a program that has ended."""

    findings: tuple[CheckFinding, ...] = ()
    lost: int = 0  # findings without a free record
    damaged: int = 0  # records that the checker cannot have written
    is_whole: bool = True  # False: the program has overwritten the table
    processes: int = 0  # checked processes of the program


@dataclass(frozen=True)
class CheckRun:
    """The outcome of a program that ran under the checker."""

    program: str
    level: str
    exit_code: int | None  # None: a signal ended it
    signal: int | None
    recorded: Recorded

    @property
    def findings(self) -> Sequence[CheckFinding]:
        """Return the findings: errors first, else as they were found."""
        return sorted(self.recorded.findings, key=lambda finding: finding.severity != "error")

    def rows(self) -> Iterator[tuple[str, str, str]]:
        """Yield file, code and message of each finding, as baselines have them."""
        for one in self.findings:
            yield one.file_of(self.program), one.code, one.message

    def without(self, knows: Callable[[str, str, str], bool]) -> CheckRun:
        """Return the outcome without findings that `knows` accepts."""
        known = [knows(*row) for row in self.rows()]
        fresh = (one for one, is_known in zip(self.findings, known, strict=True) if not is_known)
        return replace(self, recorded=self.recorded._replace(findings=tuple(fresh)))

    def count(self, severity: Severity) -> int:
        """Return how many findings are of a severity."""
        return sum(finding.severity == severity for finding in self.recorded.findings)
