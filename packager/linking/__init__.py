# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Link device code: from the inputs of a host link to one image for each target."""
