# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Containers that are rewritten with the images that stay: a new kind is a module and a row."""
