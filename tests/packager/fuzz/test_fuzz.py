# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The corpus through every reading command, and a bounded fuzzing run from it."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest
import queues
from mutate import mutated
from target import check

pytestmark = pytest.mark.slow
HERE = Path(__file__).parent
CORPUS = sorted((HERE / "corpus").iterdir())


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_the_corpus(path: Path) -> None:
    check(path)


@pytest.mark.parametrize("way", [queues.AT_ONCE], ids=["at-once"], indirect=True)  # doctor asks it
def test_the_corpus_under_limits(tmp_path: Path) -> None:
    """No command prints a traceback, or takes more than 5 CPU seconds or 1 GiB."""
    command = [sys.executable, str(HERE / "limited.py"), str(tmp_path), *map(str, CORPUS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def test_the_seeds_are_sound() -> None:
    assert len(CORPUS) > 20
    assert sum(path.stat().st_size for path in CORPUS) < 300_000


def check_changed(path: Path, tmp_path: Path, count: int) -> None:
    """Check inputs that differ from a seed in a few fields; an error names seed and number."""
    data, changed = path.read_bytes(), tmp_path / "changed"
    for number in range(count):
        changed.write_bytes(mutated(data, random.Random(f"{path.name} {number}")))
        try:
            check(changed)
        except Exception as error:
            raise AssertionError(f"change {number} of {path.name}: {error!r}") from error


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_changed_fields(path: Path, tmp_path: Path) -> None:
    check_changed(path, tmp_path, 20)


@pytest.mark.exhaustive
@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_many_changed_fields(path: Path, tmp_path: Path) -> None:
    check_changed(path, tmp_path, 5000)


def fuzz(work: Path, *limits: str) -> None:
    """Run libFuzzer; check its last lines, because it may exit with 0 although an input fails."""
    command = [sys.executable, str(HERE / "fuzz.py"), str(work), *limits]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    found = [str(path) for path in work.glob("[a-z]*-*")]
    assert done.returncode == 0, f"failing input: {found}\n{said[-4000:]}"
    assert "INITED cov:" in said, "nothing was instrumented"


def test_fuzzing(tmp_path: Path) -> None:
    fuzz(tmp_path, "-seed=1", "-runs=1000", "-max_total_time=20")


@pytest.mark.exhaustive
def test_fuzzing_at_length(tmp_path: Path) -> None:
    fuzz(tmp_path, "-max_total_time=900")
