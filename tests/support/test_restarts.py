# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that libomp's race ended are started again, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import outcomes
import pytest
from outcomes import Outcome


def ending_once(folder: Path, end: str) -> Path:
    """Write a program that fails only the first time."""
    script = folder / "program"
    script.write_text(
        "#!/bin/sh\n"
        f'[ -e "{folder}/started" ] && echo ok && exit\n'
        f'touch "{folder}/started"\n'
        f"{end}\n"
    )
    script.chmod(0o755)
    return script


RACES = {
    "assertion": f"echo '{outcomes.ASSERTION}' >&2; kill -ABRT $$",
    "segmentation fault": "kill -SEGV $$",
    "hang": "exec sleep 100",
}


@pytest.mark.parametrize("race", RACES)
def test_a_race_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, race: str) -> None:
    monkeypatch.setattr("running.PATIENCE", 2)
    with pytest.warns(UserWarning, match="program is started again, libomp 16 raced: "):
        assert outcomes.ended(ending_once(tmp_path, RACES[race]), outcomes.ATTEMPTS).ran


def test_no_other_program_is_started_again(tmp_path: Path) -> None:
    ended = outcomes.ended(ending_once(tmp_path, RACES["segmentation fault"]), 1)
    assert ended == Outcome(returncode=-11)


def test_no_other_fault_is_started_again(tmp_path: Path) -> None:
    ended = outcomes.ended(ending_once(tmp_path, "echo wrong; exit 1"), outcomes.ATTEMPTS)
    assert ended == Outcome(returncode=1, stdout="wrong\n")


def test_only_what_clang_16_compiled_may_race(tmp_path: Path) -> None:
    waiting, other = tmp_path / "waiting.c", tmp_path / "other.c"
    waiting.write_text("#pragma omp target depend(in : x)\n;")
    other.write_text("int independent(void);\n")
    assert outcomes.attempts("16", waiting) == outcomes.ATTEMPTS
    assert outcomes.attempts("16", other) == 1
    assert {outcomes.attempts(version, waiting) for version in ("14", "19", "22")} == {1}
