# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Findings of run --check: their codes, their places, and the report of a run."""
