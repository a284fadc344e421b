# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ELF files with less device code: removed bytes are cut out, and addresses stay."""
