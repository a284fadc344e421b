// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// System V ABI for x86-64, section 3.2.3: six integer arguments in registers, the rest on the stack in
// order, the stack aligned to 16 bytes at the call.

__asm__(R"(
        .text
        .p2align 4
        .globl  omptool_host_call
        .hidden omptool_host_call
        .type   omptool_host_call, @function
omptool_host_call:                      # rdi: kernel, rsi: arguments, rdx: count
        .cfi_startproc
        endbr64
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        movq    %rdi, %r11
        movq    %rsi, %r10
        movq    %rdx, %rcx
        subq    $6, %rcx                # arguments on the stack
        jle     2f
        leaq    1(%rcx), %rax
        andq    $-2, %rax               # an even number of words keeps the alignment
        negq    %rax
        leaq    (%rsp,%rax,8), %rsp
1:      movq    40(%r10,%rcx,8), %rax   # argument 5 + rcx goes to word rcx - 1
        movq    %rax, -8(%rsp,%rcx,8)
        decq    %rcx
        jnz     1b
2:      movq    (%r10), %rdi
        movq    8(%r10), %rsi
        movq    16(%r10), %rdx
        movq    24(%r10), %rcx
        movq    32(%r10), %r8
        movq    40(%r10), %r9
        xorl    %eax, %eax
        callq   *%r11
        movq    %rbp, %rsp
        popq    %rbp
        .cfi_def_cfa %rsp, 8
        retq
        .cfi_endproc
        .size   omptool_host_call, .-omptool_host_call
)");
