# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Queries on the model for the reading commands: sums, selections, comparisons. No I/O."""
