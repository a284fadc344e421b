# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The lists of tests that do not run over the queue, over workers, or by an emulator."""

from __future__ import annotations

from pathlib import Path

import aarch64
import over_workers
import pytest
import queues
from listed import known, reasons


@pytest.mark.parametrize(
    ("path", "most"), [(queues.LIST, 10), (over_workers.LIST, 12), (aarch64.NOT_EMULATED, 50)]
)
def test_the_tests_that_are_left_out_are_few_and_there(path: Path, most: int) -> None:
    left_out = reasons(path)
    assert {name.removesuffix(" over queues") for name in left_out} <= known()
    assert len(left_out) <= most
