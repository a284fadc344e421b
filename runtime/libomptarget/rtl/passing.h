// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a kernel receives its arguments, by properties of the call and the image.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace omptool {

// Environment's place among a call's arguments. The launch environment is a word that the program does not set.
enum class EnvironmentPlace : std::uint8_t {
  kNone,
  kFirstIfTaken, // by compilers whose record is the same for kernels with the parameter and without
  kFirst,
  kLast,
};
constexpr std::size_t kEnvironments = 4;

// The form of an image's kernels, as far as its compilers are known.
enum class KernelForm : std::uint8_t {
  kAsCalled, // as their callers pass them
  kWithoutEnvironment,
  kRegisters, // the environment first, each argument a parameter
  kArray, // the environment last. On a CPU the only parameter is the address of an array of the arguments' addresses
};

// Passing: the way to call the kernel.
enum class Passing : std::uint8_t {
  kPlain,      // the arguments alone
  kFirst,      // the environment, then the arguments
  kLast,       // the arguments, then the environment
  kArray,      // an array of the addresses of all these
  kArrayThere, // the same, which the plugin makes where the kernel runs: it cannot read the host's memory
  kNever,      // call and image disagree in a way that cannot be
};

// The way to launch it.
struct Launching {
  Passing how = Passing::kPlain;
  bool takes_shape = false;      // the plugin gets the shape that a compiler's call asks for
  bool names_dimensions = false; // the plugin's lines name teams and threads in three dimensions
};

// By EnvironmentPlace.
using Passings = std::array<Passing, kEnvironments>;

// Passings of a kernel. `old`: kernels whose callers are of the kind kFirstIfTaken have no environment parameter.
// Kernels on devices other than a CPU describe their parameters, each for itself. `is_separate`: kernels cannot read
// the host's memory.
constexpr Passings passings_of(KernelForm form, bool old, bool on_cpu, bool is_separate) {
  using enum Passing;
  const Passing last = !on_cpu ? kLast : is_separate ? kArrayThere : kArray;
  switch (on_cpu ? form : KernelForm::kAsCalled) {
  case KernelForm::kAsCalled:
    break;
  case KernelForm::kWithoutEnvironment:
    return {kPlain, kPlain, kNever, kNever};
  case KernelForm::kRegisters:
    return {kNever, old ? kNever : kFirst, kFirst, kFirst};
  case KernelForm::kArray:
    return {kNever, kNever, last, last};
  }
  return {kPlain, old ? kPlain : kFirst, kFirst, last};
}

// Returns how to call a CPU kernel that may be compiled for a device runtime, as flang's are: such a kernel has its
// arguments as parameters, whatever clang's kernels have.
constexpr Passing for_kernel(Passing how, bool has_device_runtime) {
  const bool is_array = how == Passing::kArray || how == Passing::kArrayThere;
  return has_device_runtime && is_array ? Passing::kLast : how;
}

} // namespace omptool
