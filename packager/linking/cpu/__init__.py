# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Link device code for a CPU to the shared object that a plugin loads."""
