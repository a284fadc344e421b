// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// AAPCS64, section 6.1: a function keeps x19 to x29, the stack pointer, and the lower halves of v8 to v15.
#include "machine.h"

#include <cstring>

// Goes on where x30 of the entered context leads. Guarded control stacks (GCS), which hold returns, would have to be
// changed with the stack.
__asm__(R"(
        .text
        .p2align 4
        .globl  omptool_host_switch
        .hidden omptool_host_switch
        .type   omptool_host_switch, %function
omptool_host_switch:                    // x0: where to keep the stack pointer, x1: the one to go on with
        hint    #34                     // bti c
        stp     x19, x20, [sp, #-160]!
        stp     x21, x22, [sp, #16]
        stp     x23, x24, [sp, #32]
        stp     x25, x26, [sp, #48]
        stp     x27, x28, [sp, #64]
        stp     x29, x30, [sp, #80]
        stp     d8, d9, [sp, #96]
        stp     d10, d11, [sp, #112]
        stp     d12, d13, [sp, #128]
        stp     d14, d15, [sp, #144]
        mov     x9, sp
        str     x9, [x0]
        mov     sp, x1
        ldp     d14, d15, [sp, #144]
        ldp     d12, d13, [sp, #128]
        ldp     d10, d11, [sp, #112]
        ldp     d8, d9, [sp, #96]
        ldp     x29, x30, [sp, #80]
        ldp     x27, x28, [sp, #64]
        ldp     x25, x26, [sp, #48]
        ldp     x23, x24, [sp, #32]
        ldp     x21, x22, [sp, #16]
        ldp     x19, x20, [sp], #160
        ret
        .size   omptool_host_switch, .-omptool_host_switch

        .p2align 4
        // Global: of a local label in the GOT, gas names the section, and linkers drop the label's place in it.
        .globl  omptool_host_begin
        .hidden omptool_host_begin
        .type   omptool_host_begin, %function
omptool_host_begin:                     // x19: the function, x20: its argument
        .cfi_startproc
        .cfi_undefined x30              // nothing called it: a backtrace ends here
        mov     x0, x20
        blr     x19
        brk     #1
        .cfi_endproc
        .size   omptool_host_begin, .-omptool_host_begin
)");

extern "C" void omptool_host_begin() noexcept;

namespace omptool::machine {

std::byte* first_frame(std::byte* top, void (*main)(void*), void* argument) {
  constexpr std::size_t kRegisters = 20, kGoesOn = 11; // x19 to x30, d8 to d15, as omptool_host_switch takes them
  const auto word = [](auto* value) { return reinterpret_cast<std::uintptr_t>(value); };
  std::array<std::uintptr_t, kRegisters> frame{word(main), word(argument)};
  frame[kGoesOn] = word(&omptool_host_begin);
  std::byte* const position = top - sizeof frame;
  std::memcpy(position, frame.data(), sizeof frame);
  return position;
}

} // namespace omptool::machine
