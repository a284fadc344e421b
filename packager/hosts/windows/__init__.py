# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Host files of Windows: COFF objects, PE executables and libraries."""
