"""Runs the worker that joins modules."""

from __future__ import annotations

from pathlib import Path

from packager.lowering.child import Limits, run_child
from packager.lowering.joining.request import JoinAnswer, JoinRequest
from packager.lowering.request import SourceError


def run_join(request: JoinRequest, directory: Path, limits: Limits) -> JoinAnswer:
    """Have the request carried out in `directory`, a private one.

    Raises SourceError when a module is at fault or LLVM dies of it, UsageError for a processor or
    feature that LLVM doesn't know, MissingToolError without llvmlite.
    """
    shown = f"device code for {request.device.triple}"
    text = run_child(
        "joining.worker", request.to_json(), request.device.triple, shown, directory, limits
    )
    answer = JoinAnswer.from_json(text)
    if answer.fault:
        raise SourceError(answer.fault)
    return answer
