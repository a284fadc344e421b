// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Generations of LLVM's offloading ABI, as data. `packager/generations.py` has the same rows, and a test compares the
// two: a new generation is a new row in both.
//
// Three facts are no properties of a generation. A call has the version of its record and the place of the launch
// environment; the compiler of an image decides how kernels for a CPU are called.
#pragma once

#include <cstddef>
#include <cstdint>

namespace omptool {

enum class Registration : std::uint8_t {
  kInitArray, // the program unregisters by .fini_array
  kAtExit,    // and by atexit()
};
enum class Pairing : std::uint8_t { kByPosition, kByName };

// Generation: the properties shared by programs of several clang releases.
struct Generation {
  const char* name;
  int first_release, last_release;
  const char* soname;      // of the library that the last of the releases links with
  std::size_t record_size; // bytes of an entry
  const char* entries_section;
  bool is_wrapped; // registered are the OffloadBinaries around images, not images
  Registration registration;
  Pairing pairing;                 // of the host's entries and the image's
  std::uint32_t container_version; // of the OffloadBinaries that it writes; 0: none
  std::size_t kernel_environment;  // bytes of a GPU kernel's own record; 0: none
  std::size_t launch_environment;  // bytes that a GPU kernel is lent for a launch; 0: none
};

// clang-format off
inline constexpr Generation kGenerations[] = {
    {.name = "llvm-14", .first_release = 0, .last_release = 14, .soname = "libomptarget.so",
     .record_size = 32, .entries_section = "omp_offloading_entries", .is_wrapped = false,
     .registration = Registration::kInitArray, .pairing = Pairing::kByPosition,
     .container_version = 0, .kernel_environment = 0, .launch_environment = 0},
    {.name = "llvm-16", .first_release = 15, .last_release = 17, .soname = "libomptarget.so.16",
     .record_size = 32, .entries_section = "omp_offloading_entries", .is_wrapped = true,
     .registration = Registration::kInitArray, .pairing = Pairing::kByName,
     .container_version = 1, .kernel_environment = 0, .launch_environment = 0},
    {.name = "llvm-18", .first_release = 18, .last_release = 18, .soname = "libomptarget.so.18.1",
     .record_size = 32, .entries_section = "omp_offloading_entries", .is_wrapped = false,
     .registration = Registration::kInitArray, .pairing = Pairing::kByName,
     .container_version = 1, .kernel_environment = 48, .launch_environment = 16},
    {.name = "llvm-19", .first_release = 19, .last_release = 19, .soname = "libomptarget.so.19.1",
     .record_size = 32, .entries_section = "omp_offloading_entries", .is_wrapped = false,
     .registration = Registration::kAtExit, .pairing = Pairing::kByName,
     .container_version = 1, .kernel_environment = 48, .launch_environment = 16},
    {.name = "llvm-20", .first_release = 20, .last_release = 20, .soname = "libomptarget.so.20.1",
     .record_size = 56, .entries_section = "omp_offloading_entries", .is_wrapped = false,
     .registration = Registration::kAtExit, .pairing = Pairing::kByName,
     .container_version = 1, .kernel_environment = 48, .launch_environment = 16},
    {.name = "llvm-22", .first_release = 21, .last_release = 22, .soname = "libomptarget.so.22.1",
     .record_size = 56, .entries_section = "llvm_offload_entries", .is_wrapped = false,
     .registration = Registration::kAtExit, .pairing = Pairing::kByName,
     .container_version = 1, .kernel_environment = 48, .launch_environment = 16},
    {.name = "llvm-23", .first_release = 23, .last_release = 23, .soname = "libomptarget.so.23.1",
     .record_size = 56, .entries_section = "llvm_offload_entries", .is_wrapped = false,
     .registration = Registration::kAtExit, .pairing = Pairing::kByName,
     .container_version = 2, .kernel_environment = 40, .launch_environment = 32},
    {.name = "llvm-24", .first_release = 24, .last_release = 24, .soname = "libomptarget.so.24.0",
     .record_size = 56, .entries_section = "llvm_offload_entries", .is_wrapped = false,
     .registration = Registration::kAtExit, .pairing = Pairing::kByName,
     .container_version = 3, .kernel_environment = 40, .launch_environment = 32},
};
// clang-format on

} // namespace omptool
