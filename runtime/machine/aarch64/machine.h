// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// AArch64, as far as the runtime's C++ differs by machine.
#pragma once

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <elf.h>
#include <ucontext.h>

namespace omptool::machine {

inline constexpr Elf64_Half kElf = EM_AARCH64;
inline constexpr const char* kName = "aarch64";         // a triple begins with it
inline constexpr const char* kArchitecture = "aarch64"; // as descriptions of devices name it
inline constexpr const char* kTriple = "aarch64-unknown-linux-gnu";

// Arguments of a function that are in registers: AAPCS64, section 6.8.2.
inline constexpr std::size_t kRegisterArguments = 8;

struct FaultSignal {
  int number;
  const char* name;
};
// Signals of instructions that fault, that of __builtin_trap() among them.
inline constexpr std::array kFaultSignals{FaultSignal{SIGSEGV, "SIGSEGV"}, FaultSignal{SIGBUS, "SIGBUS"},
                                          FaultSignal{SIGILL, "SIGILL"}, FaultSignal{SIGFPE, "SIGFPE"},
                                          FaultSignal{SIGTRAP, "SIGTRAP"}};
inline constexpr FaultSignal kTrap{SIGTRAP, "SIGTRAP"};

// The instruction that a signal interrupted.
inline const void* instruction_of(const ucontext_t& context) {
  return reinterpret_cast<const void*>(context.uc_mcontext.pc);
}

// Writes the registers of a context that is entered for the first time, which begins with main(argument), and returns
// its stack pointer. `top` is the end of its stack, aligned to 16 bytes.
std::byte* first_frame(std::byte* top, void (*main)(void*), void* argument);

} // namespace omptool::machine

// Keeps the registers on the stack and the stack pointer in `*left`, and goes on with those of the stack `entered`.
extern "C" void omptool_host_switch(void** left, void* entered) noexcept;
