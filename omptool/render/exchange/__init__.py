# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Renderers of findings in the formats of other tools."""
