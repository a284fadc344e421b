"""The main job as the README and the manual page show it: their lines run as they stand."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from fixture_programs import OMPTOOL
from places import FIXTURES, ROOT

pytestmark = [pytest.mark.slow, pytest.mark.offloads]


def of_the_readme() -> str:
    text = (ROOT / "README.md").read_text().partition("## The main job by hand")[2]
    return text.partition("```sh\n")[2].partition("```")[0]


def of_the_page() -> str:
    text = (ROOT / "man" / "omptool.1").read_text().partition(".SH EXAMPLES\n")[2]
    lines = re.search(r"\.RS\n(.*?)\.RE", text, re.DOTALL)
    assert lines
    return lines[1].replace(r"\-", "-").replace(r"\e", "\\")


@pytest.mark.parametrize("text", [of_the_readme(), of_the_page()], ids=["README", "man"])
def test_the_main_job(tmp_path: Path, text: str) -> None:
    for name in ("kernels.ll", "host.c", "expected.txt"):
        shutil.copy(FIXTURES / "two_images" / name, tmp_path)
    assert text.count("\n") >= 8
    path = f"{Path(OMPTOOL).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", text],
        cwd=tmp_path,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith((tmp_path / "expected.txt").read_text())
