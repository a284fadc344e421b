# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/verify.md: what `verify` finds, made of the checks' own explanations.

Usage: python tests/support/verify_page.py [--write]   (prints the page, or writes it)
"""

from __future__ import annotations

import argparse
import re
import sys

from places import ROOT

from packager import checks
from packager.gates import codes as gates
from packager.machine.explained import explain

PAGE = ROOT / "docs" / "verify.md"
INTRODUCTION = """# What verify finds

One section for each code: the cause, and the cure. `omptool verify --explain CODE` prints the same.
`python tests/support/verify_page.py --write` makes this page from the checks.

A finding is an error if a region will not run or will run wrongly, a warning if it may, and else
information. `verify` exits with 1 when there is an error, and with 0 otherwise; `--strict` counts
warnings as errors. `--select` and `--ignore` choose codes. OMP141 on are of `--against` and
`--budget`.
"""


def page() -> str:
    """Return the whole page."""
    codes = sorted((*checks.CHECKS, *gates.CODES))
    rows = [f"| [{code}](#{code.lower()}) | {_title(code)} |" for code in codes]
    table = "\n".join(["| code | finds |", "| --- | --- |", *rows])
    return "\n".join([INTRODUCTION, table, *map(_section, codes)]) + "\n"


def _title(code: str) -> str:
    return explain(code).partition("\n")[0].rstrip(".")


def _section(code: str) -> str:
    title, _, rest = explain(code).partition("\n")
    cure = re.sub(r"^Cure: ", "**Cure:** ", rest.strip(), flags=re.MULTILINE)
    return f"\n## {code}\n\n{title}\n\n{cure}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--write", action="store_true", help="write docs/verify.md")
    if parser.parse_args().write:
        PAGE.write_text(page())
    else:
        sys.stdout.write(page())


if __name__ == "__main__":
    main()
