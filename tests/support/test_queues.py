# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The list of tests that do not run over the queue."""

from __future__ import annotations

import re

import queues
from places import ROOT, TESTS


def test_the_tests_that_are_left_out_are_few_and_there() -> None:
    cases = (path.read_text() for path in (ROOT / "runtime" / "tests").rglob("*_test.cpp"))
    functions = (path.read_text() for path in TESTS.rglob("test_*.py"))
    names = {
        *(name for text in cases for name in re.findall(r'TEST_CASE\("(.*)"\)', text)),
        *(
            name
            for text in functions
            for name in re.findall(r"^def (test_\w+)", text, re.MULTILINE)
        ),
    }
    assert queues.left_out().keys() <= names
    assert len(queues.left_out()) <= 10
