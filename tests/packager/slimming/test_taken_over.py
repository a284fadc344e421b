# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results of an edit that leaves nothing to shorten."""

from __future__ import annotations

from pathlib import Path

from packager.slimming import file


def test_a_link_to_the_output_stays(tmp_path: Path) -> None:
    edited, target, link = (tmp_path / name for name in ("edited", "target", "link"))
    edited.write_bytes(b"edited")
    edited.chmod(0o750)
    target.write_bytes(b"before")
    link.symlink_to(target)
    file._taken_over(edited, link, lambda _: None)
    assert link.is_symlink()
    assert target.read_bytes() == b"edited"
    assert target.stat().st_mode & 0o777 == 0o750
