# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compressed parts of files: inflated one by one, or ahead in threads, and what the helper says of them."""
