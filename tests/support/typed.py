# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Commands as a page shows them, and as a user types them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from fixture_programs import OMPTOOL


def blocks(page: Path, heading: str) -> list[str]:
    """Return the shell blocks of a page's section under `heading`."""
    section = page.read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    assert section, f"{page} has no section {heading!r}"
    return [block.partition("```")[0] for block in section.split("```sh\n")[1:]]


def typed(lines: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run lines of a shell in `folder`, each of which must succeed, with omptool on PATH."""
    path = f"{Path(OMPTOOL).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", lines],
        cwd=folder,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done
