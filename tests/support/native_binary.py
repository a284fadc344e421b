# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes a native binary of a SPIR-V module, by the driver of OpenCL's first device.

Usage: python native_binary.py MODULE BINARY   (a process of its own: drivers have threads)
"""

from __future__ import annotations

import ctypes
import sys
from ctypes import byref
from pathlib import Path

ANY_DEVICE = ctypes.c_uint64(0xFFFFFFFF)
SIZES, BINARIES = 0x1165, 0x1166  # queries of clGetProgramInfo
Handle = ctypes.c_void_p


def native(module: bytes) -> bytes:
    """Return the binary from clGetProgramInfo, after building the module."""
    cl = ctypes.CDLL("libOpenCL.so.1")
    cl.clCreateContext.restype = cl.clCreateProgramWithIL.restype = Handle
    platform, device, error = Handle(), Handle(), ctypes.c_int()
    _need(cl.clGetPlatformIDs(1, byref(platform), None))
    _need(cl.clGetDeviceIDs(platform, ANY_DEVICE, 1, byref(device), None))
    context = Handle(cl.clCreateContext(None, 1, byref(device), None, None, byref(error)))
    size = ctypes.c_size_t(len(module))
    program = Handle(cl.clCreateProgramWithIL(context, module, size, byref(error)))
    _need(error.value)
    _need(cl.clBuildProgram(program, 1, byref(device), b"", None, None))
    word = ctypes.c_size_t(ctypes.sizeof(Handle))
    _need(cl.clGetProgramInfo(program, SIZES, word, byref(size), None))
    binary = ctypes.create_string_buffer(size.value)
    _need(
        cl.clGetProgramInfo(program, BINARIES, word, byref(Handle(ctypes.addressof(binary))), None)
    )
    return binary.raw


def _need(error: int) -> None:
    if error:
        sys.exit(f"a call of OpenCL's fails with {error}")


if __name__ == "__main__":
    Path(sys.argv[2]).write_bytes(native(Path(sys.argv[1]).read_bytes()))
