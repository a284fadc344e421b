# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gates for builds: compare files with limits that the user sets."""
