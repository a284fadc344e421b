# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Print the answers of a process that calls foreign native code. Such a process imports little."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable

END = "end"  # the line after the last answer


def answer(steps: Iterable[object]) -> None:
    """Print the result of each step at once.

    Meanwhile the output of native code goes to stderr.
    """
    with os.fdopen(os.dup(1), "w") as out:
        os.dup2(2, 1)
        for found in steps:
            print(json.dumps(found), file=out, flush=True)
        print(END, file=out)
