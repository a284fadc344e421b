# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Device links: code for devices in what a host link is given -> one image for each target."""
