# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sources to objects and programs with device code: the three steps of the proposal, section 3."""
