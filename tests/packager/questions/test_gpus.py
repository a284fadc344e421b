# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each GPU runs the code that CUDA's and LLVM's documents name."""

from __future__ import annotations

import pytest

from packager.gpus import on_amd, on_nvidia


@pytest.mark.parametrize(
    ("arch", "gpu", "cubin", "ptx"),
    [
        ("sm_80", "sm_80", True, True),
        ("sm_80", "sm_86", True, True),
        ("sm_86", "sm_80", False, False),
        ("sm_80", "sm_75", False, False),
        ("sm_80", "sm_90", False, True),
        ("compute_80", "sm_120", False, True),
        ("sm_90a", "sm_90", True, True),
        ("sm_90a", "sm_100", False, False),
        ("sm_100f", "sm_103", True, True),
        ("sm_100f", "sm_120", False, False),
        ("sm_103f", "sm_100", False, False),
        ("", "sm_80", False, False),
    ],
)
def test_nvidia(arch: str, gpu: str, cubin: bool, ptx: bool) -> None:
    assert on_nvidia(arch, gpu, is_ptx=False) == ("natively" if cubin else None)
    assert on_nvidia(arch, gpu, is_ptx=True) == ("by JIT" if ptx else None)


@pytest.mark.parametrize(
    ("arch", "gpu", "runs"),
    [
        ("gfx90a", "gfx90a", True),
        ("gfx90a:xnack-", "gfx90a", True),
        ("gfx908", "gfx90a", False),
        ("gfx11-generic", "gfx1103", True),
        ("gfx11-generic", "gfx1200", False),
        ("gfx9-4-generic", "gfx942", True),
    ],
)
def test_amd(arch: str, gpu: str, runs: bool) -> None:
    assert on_amd(arch, gpu) is runs


@pytest.mark.parametrize(
    ("arch", "gpu", "runs"),
    [
        ("gfx90a:xnack-", "gfx90a:xnack-", True),
        ("gfx90a:xnack+", "gfx90a:xnack-", False),
        ("gfx90a", "gfx90a:xnack-", True),
        ("gfx90a:sramecc+", "gfx90a:xnack-", True),
        ("gfx9-4-generic:xnack+", "gfx942:xnack-", False),
        ("gfx9-4-generic", "gfx9-4-generic", True),
        ("gfx942", "gfx9-4-generic", False),
    ],
)
def test_settings_and_families_of_amd(arch: str, gpu: str, runs: bool) -> None:
    assert on_amd(arch, gpu) is runs
