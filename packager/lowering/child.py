"""Runs the worker, so that whatever becomes of LLVM is one line here (DECISIONS 19)."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from packager.errors import FormatError, MissingToolError, UsageError
from packager.lowering.request import READING, Answer, Request, SourceError

_GIB = 1 << 30
# What LLVM says on stderr while it goes on with something else than was asked for.
_IGNORED = re.compile(r"'([^']*)' is not a recognized (processor|feature) for this target")
_LAST_WORDS = re.compile(r"LLVM ERROR: (.*)|(Assertion .* failed)|(.*out of memory.*)")
_READING = re.compile(rf"^{READING}(.*)$", re.MULTILINE)
_MISSING_MODULE = re.compile(r"ModuleNotFoundError: No module named '(llvmlite)")


@dataclass(frozen=True)
class Limits:
    """What the child process may use: far more than any sane module needs."""

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


def run_worker(request: Request, shown: str, directory: Path, limits: Limits = LIMITS) -> Answer:
    """Have the request carried out in `directory`, a private one; `shown` is the user's file name.

    Raises SourceError when the IR is at fault or LLVM dies of it, UsageError for a processor or
    feature that LLVM doesn't know, MissingToolError without llvmlite.
    """
    text = run_child("worker", request.to_json(), request.triple, shown, directory, limits)
    answer = Answer.from_json(text)
    if answer.fault:
        place = f":{answer.line}:{answer.column}" if answer.line else ""
        raise SourceError(f"{shown}{place}: {answer.fault}")
    return answer


def run_child(
    module: str, request: str, triple: str, shown: str, directory: Path, limits: Limits
) -> str:
    """The last line that a module of this room prints, which reads `request` on its stdin.

    Where it has said on stderr which file it reads, that one's name takes the place of `shown`.
    """
    name = f"{__package__}.{module}"
    path = (*sys.path, str(Path(__file__).parents[2]))  # with what site has found
    try:
        done = subprocess.run(
            [sys.executable, "-S", "-c", f"import {name} as it; it.main()"],
            input=request,
            capture_output=True,
            encoding="utf-8",
            errors="backslashreplace",
            cwd=directory,  # -c looks here first: nothing of the user's may be there
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path))},
            timeout=limits.wall_seconds,
            preexec_fn=limits.apply,
        )
    except subprocess.TimeoutExpired as error:
        raise SourceError(f"{shown}: LLVM took more than {limits.wall_seconds} s") from error
    ignored = _IGNORED.search(done.stderr)
    if ignored:
        raise UsageError(f"{triple} has no {ignored[2]} {ignored[1]!r}")
    if done.returncode != 0:
        read = _READING.findall(done.stderr)
        raise _death(done.returncode, done.stderr, read[-1] if read else shown, limits)
    return done.stdout.splitlines()[-1]


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
