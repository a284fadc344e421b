# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the tests find what they test, and what they test it with."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
FIXTURES = ROOT / "fixtures"
INCLUDE = ROOT / "runtime" / "include"
SCHEMAS = ROOT / "omptool" / "schemas"
DATA = TESTS / "support" / "data"
CORPUS = TESTS / "packager" / "fuzz" / "corpus"
