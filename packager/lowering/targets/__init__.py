# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The targets that `lower` knows, a module each."""
