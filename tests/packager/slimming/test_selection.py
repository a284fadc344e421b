# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names of kept devices, and the images of one container that they load."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import pytest

from packager.errors import UsageError
from packager.model import ImageKind
from packager.slimming.keeps import Kept, named, of_list
from packager.slimming.selection import Candidate, choose


def images(*names: str) -> list[Candidate]:
    """Return candidates of names such as "sm_90", "ptx sm_90", "gfx90a:xnack-", "x86_64"."""
    found = []
    for name in names:
        kind, _, arch = name.rpartition(" ")
        code = "nvptx64" if "sm_" in arch else "amdgcn" if "gfx" in arch else arch
        default = {"nvptx64": "cubin", "amdgcn": "amdgcn", "spir64": "spirv"}.get(code, "elf")
        arch = arch if code in ("nvptx64", "amdgcn") else ""
        found.append(Candidate(code, arch, cast("ImageKind", kind or default), 8))
    return found


CASES = [
    ("sm_90", "sm_80 sm_90 sm_100", "sm_90"),
    ("sm_86", "sm_75 sm_80 sm_89", "sm_80"),
    ("sm_89,sm_90", "sm_80 sm_86 sm_90 sm_90a", "sm_86 sm_90 sm_90a"),
    ("sm_90a", "sm_80 sm_90 sm_90a", "sm_90 sm_90a"),
    ("sm_103", "sm_90 sm_100 sm_100a sm_100f sm_120", "sm_100 sm_100f"),
    ("sm_90", "sm_80 ptx/sm_80", "ptx/sm_80"),
    ("sm_90", "sm_90 ptx/sm_90", "sm_90"),
    ("sm_120", "sm_90 ptx/sm_80 ptx/sm_90 ptx/sm_90a", "ptx/sm_90"),
    ("sm_87", "sm_80 ptx/sm_80", "sm_80 ptx/sm_80"),
    ("sm_87", "sm_87 ptx/sm_80", "sm_87"),
    ("sm_88", "sm_80 ptx/sm_80", "sm_80 ptx/sm_80"),
    ("sm_89", "sm_80 sm_86 sm_87 ptx/sm_80", "sm_86 sm_87"),
    ("sm_89", "sm_87 ptx/sm_80", "sm_87 ptx/sm_80"),
    ("gfx942", "gfx90a gfx942 gfx9-4-generic", "gfx942"),
    ("gfx950", "gfx90a gfx942 gfx9-4-generic", "gfx9-4-generic"),
    ("gfx9-4-generic", "gfx942 gfx9-4-generic", "gfx9-4-generic"),
    ("gfx90a", "gfx90a:xnack- gfx90a:xnack+ gfx908", "gfx90a:xnack- gfx90a:xnack+"),
    ("gfx90a:xnack-", "gfx90a:xnack- gfx90a:xnack+ gfx908", "gfx90a:xnack-"),
    ("gfx942", "gfx942:xnack+ gfx9-4-generic", "gfx942:xnack+ gfx9-4-generic"),
    ("gfx942:xnack+", "gfx942:xnack+ gfx9-4-generic", "gfx942:xnack+"),
    ("x86_64", "x86_64 aarch64 sm_90", "x86_64"),
    ("spir64", "spir64 spir64_gen", "spir64"),
    ("spir64_gen", "spir64 spir64_gen", "spir64_gen"),
]


@pytest.mark.parametrize(("kept", "names", "stay"), CASES)
def test_the_images_that_stay(kept: str, names: str, stay: str) -> None:
    words = names.replace("/", " /").split()
    rows = _rows(words)
    found = choose(images(*rows), named([kept]), keep_ptx=False)
    assert [rows[n] for n in sorted(found.stay)] == _rows(stay.replace("/", " /").split())
    assert found.lacking == ()


def _rows(words: list[str]) -> list[str]:
    """Return names; "ptx", "/sm_90" is one."""
    rows: list[str] = []
    for word in words:
        if word.startswith("/"):
            rows[-1] += f" {word[1:]}"
        else:
            rows.append(word)
    return rows


def test_a_device_without_code_is_named() -> None:
    rows = images("sm_80", "sm_90", "gfx90a")
    found = choose(rows, named(["sm_120,gfx90a,x86_64"]), keep_ptx=False)
    assert found.stay == {2}
    assert found.lacking == (Kept("sm_120", "nvptx64"),)


def test_native_code_of_intels() -> None:
    """Code without a device stays. Code for one device serves no other."""
    mine, other = (Candidate("spir64_gen", arch, "elf", 8) for arch in ("", "12.55.8"))
    assert choose([mine, other], named(["12.60.7"]), keep_ptx=False, is_best=False).stay == {0}
    found = choose([other], named(["12.60.7"]), keep_ptx=False, is_best=False)
    assert not found.stay
    assert found.lacking == (Kept("12.60.7", "intelgt"),)


def test_ptx_stays_where_that_is_asked_for() -> None:
    rows = images("sm_90", "ptx sm_80", "ptx sm_90")
    assert choose(rows, named(["sm_90"]), keep_ptx=True).stay == {0, 1, 2}
    assert choose(rows, named(["gfx90a"]), keep_ptx=True).stay == set()


def test_what_must_stay_stays() -> None:
    rows = [*images("sm_90"), Candidate("", "", "unknown", 8, "it has the unknown kind 0x40")]
    assert choose(rows, named(["gfx90a"]), keep_ptx=False).stay == {1}


def test_bytes_may_say_more_than_the_container() -> None:
    """A cubin for sm_100a alone does not serve sm_103, whose PTX stays."""
    rows = images("sm_100", "ptx sm_90")
    found = choose(
        rows, named(["sm_103"]), keep_ptx=False, own_arch=lambda n: ["sm_100a", "sm_90"][n]
    )
    assert found.stay == {1}


@pytest.mark.parametrize(
    "name", ["sm_9", "sm_80a", "gfx90a:foo+", "gfx90a:xnack", "gfx90a:xnack+:xnack-", "cuda"]
)
def test_unknown_names(name: str) -> None:
    with pytest.raises(UsageError, match=f"no architecture has the name '{name[:4]}.*sm_90, .*gfx"):
        named([f"sm_90,{name}"])


def test_no_name() -> None:
    with pytest.raises(UsageError, match="no architecture is named"):
        named([" , "])


def devices(*architectures: object) -> str:
    rows = [{"number": n, "architecture": one} for n, one in enumerate(architectures)]
    return json.dumps({"schema": 1, "plugins": [{"name": "p", "devices": rows}]})


def test_a_list_of_devices(tmp_path: Path) -> None:
    path = tmp_path / "devices.json"
    path.write_text(devices("sm_90", "x86-64", "SPIR-V 1.4", "sm_145"))
    names = [kept.name for kept in of_list(path)]
    assert names == ["sm_90", "x86_64", "SPIR-V 1.4", "sm_145"]
    assert of_list(path, 0) == (Kept("sm_90", "nvptx64"),)


@pytest.mark.parametrize(
    ("content", "number", "message"),
    [
        ("{", None, "is not the output of `omptool devices --json`"),
        ("[]", None, "is not the output of `omptool devices --json`"),
        ('{"plugins": [{"devices": [1]}]}', None, "is not the output"),
        (devices("sm_90"), 4, "has no device 4; its devices: 0"),
        (devices(), None, "has no device; its devices: none"),
        (devices("sm_90", None), None, "device 1 of .* has no architecture"),
        (devices("tpu"), None, "has the architecture 'tpu'"),
    ],
)
def test_other_lists(tmp_path: Path, content: str, number: int | None, message: str) -> None:
    path = tmp_path / "devices.json"
    path.write_text(content)
    with pytest.raises(UsageError, match=message):
        of_list(path, number)


def test_what_is_no_list_of_devices(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^is a directory$") as error:
        of_list(tmp_path)
    assert error.value.subject == tmp_path
