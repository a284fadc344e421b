# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tables of processors for x86-64 and AArch64 are clang's."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence

import pytest
from clangs import INSTALLED, tool

from packager.host_machines import aarch64_features
from packager.host_machines.instruction_sets import MACHINES
from packager.host_machines.x86_64_features import PROCESSORS

# Clang's macros whose names differ from Linux's in capitals.
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
# Arm's macros for features of the table.
OF_ARM = {
    "atomics": "ATOMICS",
    "asimdrdm": "QRDMX",
    "crc32": "CRC32",
    "fcma": "COMPLEX",
    "jscvt": "JCVT",
    "lrcpc": "RCPC",
    "asimddp": "DOTPROD",
    "frint": "FRINT",
    "bf16": "BF16",
    "i8mm": "MATMUL_INT8",
    "mops": "MOPS",
    "asimdhp": "FP16_VECTOR_ARITHMETIC",
    "asimdfhm": "FP16_FML",
    "sve": "SVE",
    "sve2": "SVE2",
}
X86, ARM = MACHINES["x86_64"], MACHINES["aarch64"]


def macros(triple: str, options: Sequence[str], form: str) -> set[str]:
    """Return the macros of one form that clang defines under options."""
    words = [
        *tool(INSTALLED, "clang"),
        "-target",
        triple,
        *options,
        "-dM",
        "-E",
        "-xc",
        "/dev/null",
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return set(re.findall(rf"#define {form} \d+\b", done.stdout))


@pytest.mark.parametrize("processor", PROCESSORS)
def test_features_are_clangs(processor: str) -> None:
    defined = macros("x86_64-pc-linux-gnu", [f"-march={processor}"], r"__(\w+)__")
    known = {word for text in PROCESSORS.values() for word in text.split()} - set(PROCESSORS)
    names = {word: OTHERS.get(word, word.upper()) for word in known}
    assert X86.features(processor) == {word for word, name in names.items() if name in defined}


def arms(*options: str) -> set[str]:
    defined = macros("aarch64-linux-gnu", options, r"__ARM_FEATURE_(\w+)")
    return {word for word, name in OF_ARM.items() if name in defined}


@pytest.mark.parametrize("processor", aarch64_features.PROCESSORS)
def test_features_of_aarch64_are_clangs(processor: str) -> None:
    option = "-march" if processor.startswith("armv") else "-mcpu"
    assert ARM.features(processor) == arms(f"{option}={processor}")


# Features for which clang defines no macro until the architecture that includes them.
SILENT = {"rdm", "fcma", "complxnum", "jscvt", "jsconv", "frintts", "fptoint"}


@pytest.mark.parametrize("extension", sorted(set(aarch64_features.EXTENSIONS) - SILENT))
def test_extensions_of_aarch64_are_clangs(extension: str) -> None:
    name = "fullfp16" if extension == "fp16" else extension  # LLVM's own
    words = set(aarch64_features.EXTENSIONS[extension].split())
    assert words == arms("-Xclang", "-target-feature", "-Xclang", f"+{name}")


def test_every_feature_has_a_compilers_name() -> None:
    for sets in MACHINES.values():
        words = {word for text in sets.processors.values() for word in text.split()}
        named = {word for text in sets.extensions.values() for word in text.split()}
        assert words - set(sets.processors) <= named


def test_what_is_lacking() -> None:
    znver4 = X86.features("znver4")
    assert X86.lacking("bdver4", "", znver4) == ["fma4", "tbm", "xop"]
    assert X86.lacking("x86-64-v3", "", znver4) == []
    assert X86.lacking("of-tomorrow", "", frozenset()) == []
    assert X86.lacking("", "+sse4.2,+fma4,+of-tomorrow", znver4) == ["fma4"]
    assert X86.lacking("bdver4", "-fma4,-xop", znver4) == ["tbm"]


def test_what_an_arm_lacks() -> None:
    n1 = ARM.features("neoverse-n1")
    assert ARM.lacking("armv8.2-a+sve", "", n1) == ["sve"]
    assert ARM.lacking("armv8.4-a+nojscvt", "", n1) == ["fcma"]
    assert ARM.lacking("", "+v8.4a,+complxnum,+lse,-sve", n1) == ["fcma"]
    assert ARM.lacking("neoverse-v1", "", ARM.features("neoverse-n2")) == []
