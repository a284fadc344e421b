// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// System V ABI for x86-64, section 3.2.1: a function keeps rbx, rbp and r12 to r15. The control words of the floating
// point units, which it keeps too, are not changed by kernels, and so not saved.
#include "machine.h"

#include <cstring>

// Switches by a jump, not by a return, because the processor's return predictions belong to the other stack.
// CMakeLists.txt has this file compiled as incompatible with shadow stacks, which hold those return addresses.
__asm__(R"(
        .text
        .p2align 4
        .globl  omptool_host_switch
        .hidden omptool_host_switch
        .type   omptool_host_switch, @function
omptool_host_switch:                    # rdi: where to keep the stack pointer, rsi: the one to go on with
        endbr64
        pushq   %rbp
        pushq   %rbx
        pushq   %r12
        pushq   %r13
        pushq   %r14
        pushq   %r15
        movq    %rsp, (%rdi)
        movq    %rsi, %rsp
        popq    %r15
        popq    %r14
        popq    %r13
        popq    %r12
        popq    %rbx
        popq    %rbp
        popq    %rcx
        notrack jmpq *%rcx
        .size   omptool_host_switch, .-omptool_host_switch

        .p2align 4
        .globl  omptool_host_begin
        .hidden omptool_host_begin
        .type   omptool_host_begin, @function
omptool_host_begin:                     # rbx: the function, r12: its argument
        .cfi_startproc
        .cfi_undefined %rip             # nothing called it: a backtrace ends here
        movq    %r12, %rdi
        callq   *%rbx
        ud2
        .cfi_endproc
        .size   omptool_host_begin, .-omptool_host_begin
)");

extern "C" void omptool_host_begin() noexcept;

namespace omptool::machine {

std::byte* first_frame(std::byte* top, void (*main)(void*), void* argument) {
  // Words for r15 to r12, rbx, rbp and the address to resume at, in the order that omptool_host_switch pops them. It
  // leaves the stack aligned to 16 bytes.
  const auto word = [](auto* value) { return reinterpret_cast<std::uintptr_t>(value); };
  const std::array<std::uintptr_t, 8> frame{0, 0, 0, word(argument), word(main), 0, word(&omptool_host_begin), 0};
  std::byte* const position = top - 16 - sizeof frame + sizeof(std::uintptr_t);
  std::memcpy(position, frame.data(), sizeof frame);
  return position;
}

} // namespace omptool::machine
