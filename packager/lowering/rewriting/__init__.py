# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Edits of a module, as the text that LLVM prints of it, for what llvmlite has no call for."""
