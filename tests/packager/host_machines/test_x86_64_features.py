# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of x86-64 processors is clang's."""

from __future__ import annotations

import re
import subprocess

import pytest
from clangs import INSTALLED, tool

from packager.host_machines.x86_64_features import PROCESSORS, features, lacking

# Clang's macros whose names are not Linux's in capital letters.
OTHERS = {
    "pni": "SSE3",
    "bmi1": "BMI",
    "abm": "LZCNT",
    "avx512_vbmi2": "AVX512VBMI2",
    "avx512_vnni": "AVX512VNNI",
    "avx512_bf16": "AVX512BF16",
    "avx512_bitalg": "AVX512BITALG",
    "avx512_vpopcntdq": "AVX512VPOPCNTDQ",
    "avx512_fp16": "AVX512FP16",
    "avx_vnni": "AVXVNNI",
    "avx_ifma": "AVXIFMA",
    "avx_vnni_int8": "AVXVNNIINT8",
    "avx_vnni_int16": "AVXVNNIINT16",
    "avx_ne_convert": "AVXNECONVERT",
}


@pytest.mark.parametrize("processor", PROCESSORS)
def test_features_are_clangs(processor: str) -> None:
    clang = tool(INSTALLED, "clang")
    words = [*clang, "-target", "x86_64-pc-linux-gnu", f"-march={processor}", "-dM", "-E", "-xc"]
    done = subprocess.run([*words, "/dev/null"], capture_output=True, text=True, check=True)
    macros = set(re.findall(r"#define __(\w+)__ 1\b", done.stdout))
    known = {word for text in PROCESSORS.values() for word in text.split()} - set(PROCESSORS)
    names = {word: OTHERS.get(word, word.upper()) for word in known}
    assert features(processor) == {word for word, macro in names.items() if macro in macros}


def test_what_is_lacking() -> None:
    assert lacking("bdver4", features("znver4")) == ["fma4", "tbm", "xop"]
    assert lacking("x86-64-v3", features("znver4")) == []
    assert lacking("of-tomorrow", frozenset()) == []
