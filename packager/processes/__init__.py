# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Start processes of commands: no file of the current folder is run."""
