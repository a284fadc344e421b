// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Holds the device object as clang-linker-wrapper and omptool find it in an archive: LLVM's offload binary, version 1,
// in a section that no host link copies. A host symbol would be wrong here: the host's link would take the device's
// functions for its own. DEVICE_OBJECT is the path of the object, TRIPLE the triple of the device
// code that links with it.

#define OF_OPENMP 1
#define IS_OBJECT 1

.section .llvm.offloading, "e", %0x6fff4c0b // SHT_LLVM_OFFLOADING
  .p2align 3
.Lbinary:
  .byte 0x10, 0xff, 0x10, 0xad
  .long 1 // version
  .quad .Lend - .Lbinary
  .quad .Lentry - .Lbinary
  .quad .Lstrings - .Lentry // size of the entry
.Lentry:
  .short IS_OBJECT
  .short OF_OPENMP
  .long 0 // flags
  .quad .Lstrings - .Lbinary
  .quad 2 // strings
  .quad .Limage - .Lbinary
  .quad .Limage_end - .Limage
.Lstrings:
  .quad .Larch_key - .Lbinary
  .quad .Larch - .Lbinary
  .quad .Ltriple_key - .Lbinary
  .quad .Ltriple - .Lbinary
.Larch_key:
  .asciz "arch"
.Larch:
  .asciz "generic"
.Ltriple_key:
  .asciz "triple"
.Ltriple:
  .asciz TRIPLE
  .p2align 3
.Limage:
  .incbin DEVICE_OBJECT
.Limage_end:
  .p2align 3
.Lend:

.section .note.GNU-stack, "", %progbits
