# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files with the device code that some GPUs need, and none for others: which images stay, and the
shorter file.
"""
