# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Wheels, Debian packages and installed distributions, with their files slimmed."""
