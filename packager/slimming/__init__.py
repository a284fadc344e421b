# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Remove the device code that the kept GPUs do not load: selection, containers, shorter files."""
