# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files of very many tiny images: memory is bounded, and time is proportional to the file."""

from __future__ import annotations

import random
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from fatbins import fatbin

from packager.errors import LimitError
from packager.formats.containers import cuda_fatbin
from packager.slimming.containers.outcome import MOST_IMAGES
from packager.slimming.elf.holes import Hole, Holes
from packager.slimming.file import slim_file
from packager.slimming.keeps import named
from packager.slimming.request import Request

KIB_IN_MIB = 1 << 10
STEP = """
import sys
from pathlib import Path
from packager.slimming.paths import slim
from packager.slimming.keeps import named
from packager.slimming.request import Request
result = slim(Path(sys.argv[1]), Path(sys.argv[2]), Request(named(["sm_90"])))
print(result.files[0].notes)
print(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
"""


def entry(arch: int) -> bytes:
    """Return the smallest entry of a fat binary."""
    head = cuda_fatbin.ENTRY.pack(cuda_fatbin.CUBIN, 0x101, 64, 8, 0, 0, 0, 0, arch)
    return head.ljust(cuda_fatbin.TAIL_AT, b"\0") + cuda_fatbin.TAIL.pack(0, 0, 0) + b"\1" * 8


def slimmed(path: Path) -> tuple[str, int]:
    """Slim a file in a process of its own; return its notes and peak memory in MiB."""
    command = [sys.executable, "-c", STEP, str(path), str(path.with_name("out"))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    notes, memory = done.stdout.splitlines()
    return notes, int(memory) // KIB_IN_MIB


def test_a_container_of_a_million_images_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "many"
    path.write_bytes(fatbin((entry(90) + entry(80)) * 500_000))
    notes, memory = slimmed(path)
    assert f"container at 0x0 is left alone: a container has more than {MOST_IMAGES}" in notes
    assert path.with_name("out").stat().st_size == path.stat().st_size
    assert memory < 64


def test_a_container_at_the_limit_is_slimmed(tmp_path: Path) -> None:
    path = tmp_path / "many"
    path.write_bytes(fatbin((entry(90) + entry(80)) * (MOST_IMAGES // 2)))
    notes, memory = slimmed(path)
    assert notes == "()"
    assert path.with_name("out").read_bytes() == fatbin(entry(90) * (MOST_IMAGES // 2))
    assert memory < 80


@pytest.mark.parametrize("count", [MOST_IMAGES + 1, 1_000_000])
def test_a_bundle_of_very_many_targets_is_an_error(tmp_path: Path, count: int) -> None:
    path = tmp_path / "many"
    row = struct.pack("<QQQ", 0, 0, 1) + b"x"
    path.write_bytes(b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", count) + row * count)
    with pytest.raises(LimitError, match=f"more than {MOST_IMAGES} images"):
        slim_file(path, None, "many", Request(named(["gfx90a"])))


def test_very_many_images_of_all_containers_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "many"
    path.write_bytes(fatbin(entry(90), entry(80)) * 100)
    monkeypatch.setattr("packager.slimming.plan.MOST_IMAGES", 150)
    with pytest.raises(LimitError, match="it has more than 150 device images"):
        slim_file(path, None, "many", Request(named(["sm_90"])))
    monkeypatch.setattr("packager.slimming.plan.MOST_IMAGES", 200)
    done = slim_file(path, tmp_path / "out", "many", Request(named(["sm_90"])))
    assert done is not None
    assert (tmp_path / "out").read_bytes().count(entry(90)) == 100


@pytest.mark.parametrize("seed", range(20))
def test_the_parts_of_a_range_beside_holes(seed: int) -> None:
    """Each byte of a range is in one part, or in a hole."""
    choice = random.Random(seed)
    cuts = sorted(choice.sample(range(200), 2 * choice.randrange(8)))
    found = Holes([Hole(*pair) for pair in zip(cuts[::2], cuts[1::2], strict=True)])
    gone = {at for hole in found.rows for at in range(hole.start, hole.end)}
    for _ in range(50):
        start, end = sorted(choice.choices(range(200), k=2))
        parts = found.kept(start, end)
        assert parts == sorted(parts)
        assert all(begin < stop for begin, stop in parts)
        bytes_of_parts = [at for begin, stop in parts for at in range(begin, stop)]
        assert bytes_of_parts == [at for at in range(start, end) if at not in gone]
