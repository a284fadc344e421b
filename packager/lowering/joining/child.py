# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run the worker that joins modules."""

from __future__ import annotations

from packager.lowering.child import LIMITS, Child, Limits
from packager.lowering.joining.request import JoinAnswer, JoinRequest
from packager.lowering.request import SourceError


def started(limits: Limits = LIMITS) -> Child:
    """Start the worker, which loads LLVM while the caller prepares the request."""
    return Child("joining.worker", limits)


def run_join(request: JoinRequest, child: Child) -> JoinAnswer:
    """Run the request in a worker.

    Raises SourceError if a module is at fault or LLVM aborts on it, UsageError for a processor or
    feature that LLVM does not know, MissingToolError without llvmlite.
    """
    triple = request.device.triple
    answer = JoinAnswer.from_json(child.ask(request.to_json(), triple, f"device code for {triple}"))
    if answer.fault:
        raise SourceError(answer.fault)
    return answer
