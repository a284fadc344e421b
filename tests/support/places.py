# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Places of the code under test, and of the tools that test it."""

from __future__ import annotations

import sys
from pathlib import Path

OMPTOOL = str(Path(sys.executable).parent / "omptool")
TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
FIXTURES = ROOT / "fixtures"
INCLUDE = ROOT / "runtime" / "include"
SCHEMAS = ROOT / "omptool" / "schemas"
DATA = TESTS / "support" / "data"
CORPUS = TESTS / "packager" / "fuzz" / "corpus"
