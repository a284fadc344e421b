# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The commands of a link start with an environment for large heaps."""

from __future__ import annotations

from pathlib import Path

import pytest

from packager.linking.tools import Tools
from packager.processes.programs import HEAP

SAYS = ("sh", "-c", 'echo "$GLIBC_TUNABLES" > "$0"')


@pytest.mark.parametrize("users", ["", "glibc.malloc.tcache_count=0"])
def test_heap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, users: str) -> None:
    """Linkers have their heap in huge pages, unless the user's variable has another setting."""
    if users:
        monkeypatch.setenv("GLIBC_TUNABLES", users)
    else:
        monkeypatch.delenv("GLIBC_TUNABLES", raising=False)
    tools, said = Tools(tmp_path), tmp_path / "said"
    assert tools.pass_on([*SAYS, str(said)]) == 0
    assert said.read_text().strip() == (users or HEAP)
    said.unlink()
    tools.run([*SAYS, str(said)], "the host")
    assert said.read_text().strip() == (users or HEAP)
