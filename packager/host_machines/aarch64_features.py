# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The instructions that compilers use for each AArch64 processor, by Linux's names for them.

The processors are those of clang's -mcpu, the architectures those of its -march. Only instructions
that code has without asking are here, no crypto. A test compares the table with clang's macros.
"""

from __future__ import annotations

# Features by processor or architecture. Features have their names in /proc/cpuinfo.
PROCESSORS = {
    "armv8-a": "",
    "armv8.1-a": "atomics asimdrdm crc32",
    "armv8.2-a": "armv8.1-a",
    "armv8.3-a": "armv8.2-a fcma jscvt lrcpc",
    "armv8.4-a": "armv8.3-a asimddp",
    "armv8.5-a": "armv8.4-a frint",
    "armv8.6-a": "armv8.5-a bf16 i8mm",
    "armv8.7-a": "armv8.6-a",
    "armv8.8-a": "armv8.7-a mops",
    "armv8.9-a": "armv8.8-a",
    "armv9-a": "armv8.5-a asimdhp sve sve2",
    "armv9.1-a": "armv9-a armv8.6-a",
    "armv9.2-a": "armv9.1-a",
    "armv9.3-a": "armv9.2-a mops",
    "armv9.4-a": "armv9.3-a",
    "armv9.5-a": "armv9.4-a",
    "cortex-a53": "crc32",
    "cortex-a57": "crc32",
    "cortex-a72": "crc32",
    "cortex-a76": "armv8.2-a asimddp asimdhp lrcpc",
    "neoverse-n1": "cortex-a76",
    "thunderx2t99": "armv8.1-a",
    "carmel": "armv8.2-a asimdhp",
    "tsv110": "armv8.2-a asimddp asimdhp asimdfhm",
    "a64fx": "armv8.2-a asimdhp sve",
    "neoverse-512tvb": "armv8.4-a asimdhp asimdfhm bf16 i8mm sve",
    "neoverse-v1": "neoverse-512tvb",
    "neoverse-n2": "armv9.1-a asimdfhm",
    "neoverse-v2": "neoverse-n2",
    "grace": "neoverse-v2",
    "ampere1": "armv8.6-a asimdhp asimdfhm",
    "apple-m1": "armv8.4-a asimdhp asimdfhm",
}
# Spellings of -march and of LLVM.
EXTENSIONS = {
    "crc": "crc32",
    "lse": "atomics",
    "rdm": "asimdrdm",
    "fcma": "fcma",
    "complxnum": "fcma",
    "jscvt": "jscvt",
    "jsconv": "jscvt",
    "rcpc": "lrcpc",
    "dotprod": "asimddp",
    "fp16": "asimdhp",
    "fullfp16": "asimdhp",
    "fp16fml": "asimdhp asimdfhm",
    "frintts": "frint",
    "fptoint": "frint",
    "bf16": "bf16",
    "i8mm": "i8mm",
    "mops": "mops",
    "sve": "asimdhp sve",
    "sve2": "asimdhp sve sve2",
}
