# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The device library: functions that portable kernels may call, as LLVM IR."""
