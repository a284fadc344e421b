# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The instructions that compilers use for each x86-64 processor, by Linux's names for them.

The processors are those of clang's -march. Only instructions that code has without asking are
here, no crypto, no instructions of kernels. A test compares the table with clang's macros.
"""

from __future__ import annotations

# Processor to its features, by their names in /proc/cpuinfo.
PROCESSORS = {
    "x86-64": "",
    "nocona": "pni",
    "core2": "nocona ssse3",
    "penryn": "core2 sse4_1",
    "x86-64-v2": "penryn sse4_2 popcnt",
    "nehalem": "x86-64-v2",
    "corei7": "x86-64-v2",
    "westmere": "x86-64-v2",
    "sandybridge": "x86-64-v2 avx",
    "corei7-avx": "sandybridge",
    "ivybridge": "sandybridge f16c",
    "core-avx-i": "ivybridge",
    "x86-64-v3": "ivybridge fma bmi1 bmi2 abm movbe avx2",
    "haswell": "x86-64-v3",
    "core-avx2": "x86-64-v3",
    "broadwell": "x86-64-v3 adx",
    "skylake": "broadwell",
    "knl": "broadwell avx512f avx512cd",
    "knm": "knl avx512_vpopcntdq",
    "x86-64-v4": "x86-64-v3 avx512f avx512cd avx512bw avx512dq avx512vl",
    "skylake-avx512": "x86-64-v4 adx",
    "skx": "skylake-avx512",
    "cascadelake": "skylake-avx512 avx512_vnni",
    "cooperlake": "cascadelake avx512_bf16",
    "cannonlake": "skylake-avx512 avx512ifma avx512vbmi",
    "icelake-client": (
        "cannonlake avx512_vbmi2 avx512_vnni avx512_bitalg avx512_vpopcntdq gfni vaes vpclmulqdq"
    ),
    "icelake-server": "icelake-client",
    "rocketlake": "icelake-client",
    "tigerlake": "icelake-client",
    "sapphirerapids": "icelake-client avx512_bf16 avx512_fp16 avx_vnni",
    "emeraldrapids": "sapphirerapids",
    "graniterapids": "sapphirerapids",
    "graniterapids-d": "sapphirerapids",
    "alderlake": "broadwell gfni vaes vpclmulqdq avx_vnni",
    "raptorlake": "alderlake",
    "meteorlake": "alderlake",
    "gracemont": "alderlake",
    "sierraforest": "alderlake avx_ifma avx_vnni_int8 avx_ne_convert",
    "grandridge": "sierraforest",
    "arrowlake": "sierraforest",
    "arrowlake-s": "sierraforest avx_vnni_int16",
    "lunarlake": "arrowlake-s",
    "pantherlake": "arrowlake-s",
    "clearwaterforest": "arrowlake-s",
    "atom": "core2 movbe",
    "bonnell": "atom",
    "silvermont": "x86-64-v2 movbe",
    "slm": "silvermont",
    "goldmont": "silvermont",
    "goldmont-plus": "silvermont",
    "tremont": "silvermont gfni",
    "amdfam10": "pni sse4a popcnt abm",
    "barcelona": "amdfam10",
    "btver1": "amdfam10 ssse3",
    "btver2": "btver1 sse4_1 sse4_2 avx f16c bmi1 movbe",
    "bdver1": "sandybridge sse4a fma4 xop abm",
    "bdver2": "bdver1 f16c fma tbm bmi1",
    "bdver3": "bdver2",
    "bdver4": "bdver3 bmi2 movbe avx2",
    "znver1": "broadwell sse4a",
    "znver2": "znver1",
    "znver3": "znver2 vaes vpclmulqdq",
    "znver4": "icelake-client sse4a avx512_bf16",
    "znver5": "znver4 avx_vnni",
}

# LLVM's spelling of features that Linux spells differently.
SPELLED = {
    "sse3": "pni",
    "sse4.1": "sse4_1",
    "sse4.2": "sse4_2",
    "bmi": "bmi1",
    "lzcnt": "abm",
    "avx512vbmi2": "avx512_vbmi2",
    "avx512vnni": "avx512_vnni",
    "avx512bf16": "avx512_bf16",
    "avx512bitalg": "avx512_bitalg",
    "avx512vpopcntdq": "avx512_vpopcntdq",
    "avx512fp16": "avx512_fp16",
    "avxvnni": "avx_vnni",
    "avxifma": "avx_ifma",
    "avxvnniint8": "avx_vnni_int8",
    "avxvnniint16": "avx_vnni_int16",
    "avxneconvert": "avx_ne_convert",
}
_WORDS = {word for text in PROCESSORS.values() for word in text.split()}
EXTENSIONS = {word: word for word in _WORDS - set(PROCESSORS)} | SPELLED
