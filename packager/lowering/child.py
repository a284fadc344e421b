# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run the worker in its own process; a crash of LLVM becomes one error line (DECISIONS 19)."""

from __future__ import annotations

import re
import resource
import signal
import subprocess

from packager.errors import FormatError, MissingToolError, UsageError
from packager.lowering.request import READING, Answer, Request, SourceError
from packager.processes.isolated import python_command
from packager.records import NamedTuple

_GIB = 1 << 30
# Messages of LLVM on stderr after which it continues with other options than requested.
_IGNORED = re.compile(r"'([^']*)' is not a recognized (processor|feature) for this target")
_LAST_WORDS = re.compile(r"LLVM ERROR: (.*)|(Assertion .* failed)|(.*out of memory.*)")
_READING = re.compile(rf"^{READING}(.*)$", re.MULTILINE)
_MISSING_MODULE = re.compile(r"ModuleNotFoundError: No module named '(llvmlite)")


class Limits(NamedTuple):
    """The limits of the child process: far more than any sane module needs."""

    memory: int = 8 * _GIB  # bytes of address space
    cpu_seconds: int = 300
    wall_seconds: int = 600

    def apply(self) -> None:
        """Take effect on the calling process, for good."""
        _restrict(resource.RLIMIT_AS, self.memory)
        _restrict(resource.RLIMIT_CPU, self.cpu_seconds)
        _restrict(resource.RLIMIT_CORE, 0)


LIMITS = Limits()


def _restrict(what: int, limit: int) -> None:
    _, hard = resource.getrlimit(what)
    if hard != resource.RLIM_INFINITY:  # the user has a limit already, which only root may raise
        limit = min(limit, hard)
    resource.setrlimit(what, (limit, limit))


def run_worker(request: Request, shown: str, limits: Limits = LIMITS) -> Answer:
    """Run the request in a worker; `shown` is the user's file name.

    Raises SourceError if the IR is at fault or LLVM aborts on it, UsageError for a processor or
    feature that LLVM does not know, MissingToolError without llvmlite.
    """
    with Child("worker", limits) as child:
        answer = Answer.from_json(child.ask(request.to_json(), request.triple, shown))
    if answer.fault:
        place = f":{answer.line}:{answer.column}" if answer.line else ""
        raise SourceError(f"{shown}{place}: {answer.fault}")
    return answer


class Child:
    """A started worker, which loads LLVM in the background. It handles one request at most."""

    def __init__(self, module: str, limits: Limits = LIMITS) -> None:
        """Start a module of this room, which reads a request on its stdin."""
        self._limits = limits
        self._process = subprocess.Popen(
            python_command(f"{__package__}.{module}"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="backslashreplace",
            cwd="/",
            preexec_fn=limits.apply,
        )

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the worker if it had no request, or has not ended."""
        if self._process.returncode is None:
            self._process.kill()
            self._process.communicate()

    def ask(self, request: str, triple: str, shown: str) -> str:
        """Send the request, and return the last line of the worker's output.

        If the worker names the file that it reads on stderr, this name replaces `shown`.
        """
        limits = self._limits
        try:
            stdout, stderr = self._process.communicate(request, limits.wall_seconds)
        except subprocess.TimeoutExpired as error:
            raise SourceError(f"{shown}: LLVM took more than {limits.wall_seconds} s") from error
        ignored = _IGNORED.search(stderr)
        if ignored:
            raise UsageError(f"{triple} has no {ignored[2]} {ignored[1]!r}")
        code = self._process.returncode
        if code != 0:
            read = _READING.findall(stderr)
            raise _death(code, stderr, read[-1] if read else shown, limits)
        return stdout.splitlines()[-1]


def _death(
    code: int, stderr: str, shown: str, limits: Limits
) -> SourceError | MissingToolError | FormatError:
    missing = _MISSING_MODULE.search(stderr)
    if missing:
        return MissingToolError(f"lowering needs the Python package {missing[1]}")
    if -code in (signal.SIGXCPU, signal.SIGKILL):
        return SourceError(f"{shown}: LLVM took more than {limits.cpu_seconds} s of processor time")
    words = _LAST_WORDS.search(stderr)
    said = (
        next(filter(None, words.groups())) if words else (stderr.strip().splitlines() or [""])[-1]
    )
    how = f"died of {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
    return SourceError(f"{shown}: LLVM {how} on this input" + (f": {said}" if said else ""))
