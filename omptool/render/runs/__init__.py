# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reports on runs of programs: where regions ran, and what the checker found."""
