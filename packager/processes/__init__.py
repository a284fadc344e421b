# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Processes that commands start: none of them runs a file of the current folder."""
