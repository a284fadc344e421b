# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Debug information (the DWARF standard, versions 2 to 5; PTX), as far as files need it."""
