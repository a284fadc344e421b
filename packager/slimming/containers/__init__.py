# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rewrite containers with the kept images; a new kind of container is a module and a row."""
