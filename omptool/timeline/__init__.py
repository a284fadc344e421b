# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The page of a trace: a template, the program in it, and the encoder of its events."""
