# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compressed parts of files, inflated one by one when they are read, or ahead in threads."""
