# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ask whether kernels of the OpenCL plugin reach all of the host's memory, and why not."""

from __future__ import annotations

import ctypes

from omptool.installation import libdir

PLUGIN = ctypes.CDLL(str(libdir() / "libomptarget.rtl.opencl.so"))
REASON = PLUGIN["__tgt_rtl_last_error"]
REASON.restype = ctypes.c_char_p

print(bool(PLUGIN["__tgt_rtl_reaches_host_memory"](0)))
print((REASON() or b"").decode())
