# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Edit modules as the text that LLVM prints, where llvmlite has no call."""
