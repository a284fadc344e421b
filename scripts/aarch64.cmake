# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Builds the runtime for AArch64 on another machine, with Debian's g++-aarch64-linux-gnu and qemu-user:
#   cmake -S runtime -B build/aarch64 -DCMAKE_TOOLCHAIN_FILE=scripts/aarch64.cmake
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)
