# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""click, pathlib and tabulate work without the modules that they rarely use."""

from __future__ import annotations

import subprocess
import sys

import pytest

RARE = ("inspect", "gettext", "uuid", "datetime", "urllib.parse", "dataclasses", "html")


def run(code: str) -> str:
    """Return the output of code in a new process."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


def test_rare_modules_are_not_imported() -> None:
    code = f"""
import sys
before = set(sys.modules)
from omptool.imports import import_click, import_tabulate
import_click()
import omptool.cli, omptool.commands.dump
import_tabulate().tabulate([["a", 1]])
print(*(set(sys.modules) - before & set({RARE})) & set({RARE}))
"""
    assert run(code) == "\n"


def test_modules_are_the_real_ones_afterwards() -> None:
    code = """
from omptool.imports import import_click, import_tabulate
import_click()
import_tabulate()
import dataclasses, datetime, gettext, html, inspect, uuid, urllib.parse
for module in (dataclasses, datetime, gettext, html, inspect, uuid, urllib.parse):
    print(module.__file__ is not None, type(module).__name__)
"""
    assert run(code) == "True module\n" * 7


@pytest.mark.parametrize(
    "use",
    [
        "from pathlib import Path; print(Path('/a b').as_uri())",
        "import tabulate; print(tabulate.tabulate([['<a>']], tablefmt='html'))",
        (
            "import tabulate, dataclasses as d; A = d.make_dataclass('A', ['b']); "
            "print(tabulate.tabulate([A(1)], headers='keys'))"
        ),
        "import click; print(click.Option(['--a'], help=' one\\n      two\\n').help)",
        "import click; print(click.style('a', fg='red'), click.Option(['-a'], help='  b ').help)",
        "import click\nwith click.progressbar([1, 2]) as bar: print(*bar)",
    ],
)
def test_what_is_rare_works(use: str) -> None:
    lean = "from omptool.imports import import_click, import_tabulate; import_click()"
    assert run(f"{lean}\nimport_tabulate()\n{use}") == run(use)


@pytest.mark.parametrize("words", [["--help"], ["dump", "--help"], ["dump"], ["--none"]])
def test_help_and_errors_of_usage_are_the_same(words: list[str]) -> None:
    texts = []
    for code in ("import omptool.__main__ as m; m.main()", "import omptool.cli as m; m.main()"):
        command = [sys.executable, "-c", code, *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        texts.append((done.returncode, done.stdout, done.stderr))
    assert texts[0] == texts[1]
