# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gates for builds: findings against the user's limits, besides the checks."""
