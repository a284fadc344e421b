# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reports of a run: tables that the runtime fills in shared memory."""
