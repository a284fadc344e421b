// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// AAPCS64, section 6.8.2: eight integer arguments in registers, the rest on the stack in order, the stack aligned to 16
// bytes at the call.

__asm__(R"(
        .text
        .p2align 4
        .globl  omptool_host_call
        .hidden omptool_host_call
        .type   omptool_host_call, %function
omptool_host_call:                      // x0: kernel, x1: arguments, x2: count
        .cfi_startproc
        hint    #34                     // bti c
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        mov     x29, sp
        .cfi_def_cfa_register x29
        mov     x16, x0
        mov     x9, x1
        subs    x10, x2, #8             // arguments on the stack
        b.le    2f
        add     x11, x10, #1
        and     x11, x11, #~1           // an even number of words keeps the alignment
        sub     sp, sp, x11, lsl #3
        add     x12, x9, #56            // argument 7 + x10 goes to word x10 - 1
        sub     x13, sp, #8
1:      ldr     x14, [x12, x10, lsl #3]
        str     x14, [x13, x10, lsl #3]
        subs    x10, x10, #1
        b.ne    1b
2:      ldp     x0, x1, [x9]
        ldp     x2, x3, [x9, #16]
        ldp     x4, x5, [x9, #32]
        ldp     x6, x7, [x9, #48]
        blr     x16
        mov     sp, x29
        .cfi_def_cfa_register sp
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        .cfi_endproc
        .size   omptool_host_call, .-omptool_host_call
)");
