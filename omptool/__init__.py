# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The omptool command line."""

__version__ = "0.1.0"
