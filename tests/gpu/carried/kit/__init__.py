# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tests that a GPU kit brings, in Python's own library alone."""
