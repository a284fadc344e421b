# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Report on runs of programs: where regions ran, and the checker's findings."""
