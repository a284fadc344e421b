# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/verify.md has the explanations of the checks."""

from __future__ import annotations

from verify_page import PAGE, page

from packager import checks
from packager.gates import codes as gates
from packager.machine.explained import explain


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), "python tests/support/verify_page.py --write"


def test_each_check_has_a_cause_and_a_cure() -> None:
    for code in (*checks.CHECKS, *gates.CODES):
        title, _, rest = explain(code).partition("\n\n")
        assert "\n" not in title, f"the first line of {code} is its title"
        assert "Cure: " in rest, code
