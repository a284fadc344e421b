# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Read traces of runs: bytes -> events, independent of the format."""
