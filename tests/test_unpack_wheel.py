# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scripts/unpack_wheel.py unpacks the right files of a wheel."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile, ZipInfo

import pytest
from unpack_wheel import unpack

DATA = "tool-1.data/data/"
CONTENT = {f"{DATA}bin/tool-1": "program", f"{DATA}lib/tool.txt": "text", "tool/module.py": "code"}


def wheel(folder: Path, content: dict[str, str], links: str) -> Path:
    path = folder / "tool-1-py3-none-any.whl"
    with ZipFile(path, "w") as file:
        for name, text in content.items():
            member = ZipInfo(name)
            member.external_attr = (0o100755 if "/bin/" in name else 0o100644) << 16
            file.writestr(member, text)
        file.writestr("tool-1.dist-info/symlinks.txt", links)
    return path


def test_files_and_links_that_match_are_unpacked(tmp_path: Path) -> None:
    links = f"{DATA}bin/tool,tool-1,0\n{DATA}lib/other,tool.txt,0\n"
    out = tmp_path / "out"
    unpack(wheel(tmp_path, CONTENT, links), out, ["bin/*", "tool/*.py"])
    found = {str(path.relative_to(out)) for path in out.rglob("*") if not path.is_dir()}
    assert found == {"bin/tool-1", "bin/tool", "tool/module.py"}
    assert (out / "bin" / "tool").readlink() == Path("tool-1")
    assert (out / "bin" / "tool").stat().st_mode & 0o777 == 0o755


def test_a_name_that_leads_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    path = wheel(tmp_path, {f"{DATA}bin/../../x": "text"}, "")
    with pytest.raises(ValueError, match=r"the member bin/\.\./\.\./x leads out of the folder"):
        unpack(path, tmp_path / "out", ["bin/*"])
