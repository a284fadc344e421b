# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gates for builds: findings by what the user asks of a file, beside what is wrong with it."""
