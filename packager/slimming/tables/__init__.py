# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables that tell SYCL's runtime of images: rows of those that go are taken out."""
