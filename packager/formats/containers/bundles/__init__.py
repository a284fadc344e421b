# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bundles of clang-offload-bundler: plain, compressed, in sections, as text, and those of HIP."""
